"""What a recovery removes from a table, by what the metastore says of its transactions."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import PublicationError
from hiveacid.metastore.models import TableName
from hiveacid.writer import recovery
from hiveacid.writer.layout import STAGE_NAMES
from hiveacid.writer.recovery import Record, recover
from hiveacid.writer.table_writes import TableWrites

NAME = TableName("marts", "daily")
OWNER, GUARD, WRITER, WRITE_ID = 10, 11, 12, 5
OWN_STAGE = ".hiveacid_stage_99"
TARGETS = ["base_0000005", "day=1/base_0000005", "delta_0000005_0000005_0000"]
OTHERS = ["base_0000004", "day=1/delta_0000006_0000006_0000", "delta_0000001_0000005_v0000003"]


class LocalFiles:
    """`Files` on a local directory. `before` runs once, before the next call of a name."""

    def __init__(self, _: object) -> None:
        self.before: dict[str, Any] = {}
        self.deleted: list[str] = []

    def _run_before(self, call: str) -> None:
        action = self.before.pop(call, None)
        if action is not None:
            action()

    def names(self, path: str, pattern: str) -> list[str]:

        return [it.name for it in Path(path).iterdir() if re.fullmatch(pattern, it.name)]

    def read(self, path: str) -> bytes | None:
        self._run_before("read")
        return Path(path).read_bytes() if Path(path).exists() else None

    def write(self, path: str, content: bytes) -> None:
        Path(path).write_bytes(content)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def rename(self, old: str, new: str) -> None:
        self._run_before("rename")
        try:
            Path(old).rename(new)
        except OSError as error:
            raise PublicationError(f"Could not rename {old}: {error}.") from error

    def delete(self, path: str) -> None:
        self._run_before("delete")
        self._run_before(f"delete {len(self.deleted)}")
        self.deleted.append(Path(path).name)
        shutil.rmtree(path, ignore_errors=True)


@dataclass
class Metastore:
    """What the metastore says."""

    open: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()
    aborted_write_ids: frozenset[int] = frozenset()
    high_watermark: int = 100
    write_ids: int = 20
    asked: list[str] = field(default_factory=list)

    def get_valid_txns(self) -> ValidTxnList:
        self.asked.append("txns")
        return ValidTxnList(self.high_watermark, self.open, self.aborted)

    def get_valid_write_ids(self, names: Any, _: object) -> dict[TableName, ValidWriteIdList]:
        ids = ValidWriteIdList(self.write_ids, aborted=self.aborted_write_ids)
        return dict.fromkeys(names, ids)


class Scene:
    """A table after a crash."""

    def __init__(self, location: Path, patch: pytest.MonkeyPatch) -> None:
        self.location = location
        self.files = LocalFiles(None)
        patch.setattr(recovery, "Files", lambda _: self.files)
        for name in [*TARGETS, *OTHERS, OWN_STAGE, f".hiveacid_stage_{OWNER}/rows_0"]:
            (location / name).mkdir(parents=True)
        table = SimpleNamespace(identity=(7, 1000))
        target = SimpleNamespace(location=str(location), table=table)
        self.writes = cast(
            "TableWrites",
            SimpleNamespace(
                name=NAME, target=target, stage=f"{location}/{OWN_STAGE}", write_id=WRITE_ID
            ),
        )

    @property
    def stage(self) -> str:
        return f"{self.location}/.hiveacid_stage_{OWNER}"

    def record(self, **other: Any) -> None:
        paths = [f"{self.location}/{it}" for it in TARGETS]
        record = Record.of(self.writes, WRITER, paths)
        for name, value in other.items():
            object.__setattr__(record, name, value)
        record.write(cast("Any", self.files), self.stage)

    def recover(self, metastore: Metastore) -> set[str]:
        """Recover, and return what is there of the targets and stages."""
        recover(cast("Any", None), cast("Any", metastore), [self.writes])
        for name in [*OTHERS, OWN_STAGE]:
            assert (self.location / name).is_dir(), name
        left = {it for it in TARGETS if (self.location / it).exists()}
        stages = self.files.names(str(self.location), STAGE_NAMES)
        return left | ({"stage"} if set(stages) > {OWN_STAGE} else set())


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


ALL = {*TARGETS, "stage"}
DEAD = Metastore(aborted=frozenset({GUARD, WRITER}), aborted_write_ids=frozenset({WRITE_ID}))


@pytest.mark.parametrize(
    ("metastore", "left"),
    [
        (Metastore(open=frozenset({OWNER})), ALL),
        (Metastore(high_watermark=OWNER - 1), ALL),
        (Metastore(), set(TARGETS)),
        (DEAD, set(TARGETS)),
    ],
    ids=["its owner is open", "its owner is newer than the list", "ended", "aborted"],
)
def test_a_stage_from_which_nothing_was_moved(
    scene: Scene, metastore: Metastore, left: set[str]
) -> None:
    assert scene.recover(metastore) == left


@pytest.mark.parametrize(
    ("metastore", "left"),
    [
        (DEAD, set()),
        (Metastore(frozenset({OWNER}), DEAD.aborted, DEAD.aborted_write_ids), set()),
        (Metastore(aborted=DEAD.aborted, write_ids=WRITE_ID - 1), set()),
        (Metastore(open=frozenset({WRITER})), ALL),
        (Metastore(high_watermark=WRITER - 1), ALL),
        (Metastore(open=frozenset({OWNER})), ALL),
        (Metastore(), set(TARGETS)),
        (Metastore(aborted=DEAD.aborted), ALL),
        (Metastore(aborted=DEAD.aborted, aborted_write_ids=frozenset({4, 6})), ALL),
    ],
    ids=[
        "aborted",
        "aborted, and its process is late",
        "aborted, and the highest write id is forgotten",
        "open",
        "newer than the list",
        "committed, and its process removes the stage",
        "committed, or forgotten",
        "aborted in a metastore that was restored",
        "aborted with other write ids",
    ],
)
def test_a_stage_with_a_record(scene: Scene, metastore: Metastore, left: set[str]) -> None:
    scene.record()
    assert scene.recover(metastore) == left


@pytest.mark.parametrize(
    "other",
    [{"table_id": 8}, {"create_time": 999}, {"version": 2}],
    ids=["of another table", "of a table that was dropped", "of another release"],
)
def test_a_record_that_does_not_fit_removes_nothing(scene: Scene, other: dict[str, Any]) -> None:
    scene.record(**other)
    assert scene.recover(DEAD) == ALL


def test_a_record_removes_only_directories_of_its_write_id(scene: Scene) -> None:
    scene.record(inside=(*TARGETS, *OTHERS, "day=1", "."))
    assert scene.recover(DEAD) == set()


def test_a_directory_elsewhere_is_removed(scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "base_0000005"
    path.mkdir(parents=True)
    scene.record(outside=(str(path),))
    assert scene.recover(DEAD) == set()
    assert not path.exists()


def test_a_table_that_was_renamed(scene: Scene, tmp_path: Path) -> None:
    scene.record()
    moved = tmp_path.rename(tmp_path.with_name("renamed"))
    scene.location = moved
    scene.writes.target.location = str(moved)  # type: ignore[misc]
    assert scene.recover(DEAD) == set()


def test_a_writer_that_begins_to_move_when_its_stage_is_looked_at(scene: Scene) -> None:
    """Its owner has timed out. It has the record in the stage before that is taken away."""
    scene.files.before["rename"] = scene.record
    assert scene.recover(Metastore(open=frozenset({WRITER}))) == ALL
    # It can move nothing more, and loses.
    with pytest.raises(PublicationError):
        scene.files.rename(f"{scene.stage}/rows_0", f"{scene.location}/base_0000005")
    assert scene.recover(DEAD) == set()


def test_two_recoveries_at_once(scene: Scene) -> None:
    """At each of its steps the other one runs from its beginning to its end."""
    for call in ("read", "rename", "delete"):
        for name in TARGETS:
            (scene.location / name).mkdir(parents=True, exist_ok=True)
        Path(scene.stage).mkdir(exist_ok=True)
        scene.record()
        scene.files.before[call] = lambda: scene.recover(DEAD)
        assert scene.recover(DEAD) == set(), call
        assert scene.files.before == {}


def test_bases_are_removed_first_and_the_stage_last(scene: Scene) -> None:
    """Hive may show an aborted base, and the stage says what there is to remove."""
    scene.record()
    scene.recover(DEAD)
    *directories, stage = scene.files.deleted
    assert directories == ["base_0000005", "base_0000005", "delta_0000005_0000005_0000"]
    assert stage.startswith(f".hiveacid_stage_{OWNER}_ended_")


@pytest.mark.parametrize("call", ["read", "rename", *(f"delete {n}" for n in range(4))])
def test_a_recovery_that_is_killed_is_repeated(scene: Scene, call: str) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    scene.record()
    scene.files.before[call] = die
    with pytest.raises(KeyboardInterrupt):
        scene.recover(DEAD)
    assert scene.recover(DEAD) == set()


def test_what_cannot_be_removed_is_named_and_tried_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise PublicationError("Permission denied.")

    scene.record()
    scene.files.before["delete"] = refuse
    assert scene.recover(DEAD) == ALL
    assert "HIVEACID_WARN_FILES_LEFT" in caplog.text
    assert str(NAME) in caplog.text
    assert scene.recover(DEAD) == set()


def test_without_stages_the_metastore_is_not_asked(scene: Scene) -> None:
    shutil.rmtree(scene.stage)
    metastore = Metastore()
    scene.recover(metastore)
    assert metastore.asked == []
