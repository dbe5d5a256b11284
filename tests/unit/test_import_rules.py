"""The import rules notice what they must; the code keeps them (`make lint`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.import_rules import INTEGRATION, ROOT, find_breaches, read_imports


def breaches(root: Path, **modules: str) -> list[str]:
    for name, source in modules.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return list(find_breaches(read_imports(root)))


def test_the_code_keeps_them() -> None:
    assert list(find_breaches(read_imports(ROOT))) == []
    assert list(find_breaches(read_imports(ROOT, INTEGRATION))) == []


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("hiveacid__acid__layout", "import dbt.flags", "without dbt"),
        ("hiveacid__acid__layout", "def f():\n    import agate", "without dbt"),
        ("hiveacid__acid__layout", "from hiveacid.reader import plan", "not below"),
        ("hiveacid__jvm__bulk", "from hiveacid.metastore.client import x", "not below"),
        ("hiveacid__reader__plan", "from hiveacid.changes.diff import x", "not below"),
        ("dbt__adapters__hiveacid__spark__x", "import dbt.adapters.hiveacid.targets.y", "targets"),
        ("dbt__adapters__hiveacid__x", "from dbt.adapters.hiveacid import impl", "face"),
    ],
)
def test_a_breach_is_told(tmp_path: Path, module: str, source: str, reason: str) -> None:
    (found,) = breaches(tmp_path, **{module: source, "dbt__adapters__hiveacid__impl": ""})
    assert reason in found


def test_what_is_below_may_be_imported(tmp_path: Path) -> None:
    source = "from hiveacid.acid.layout import x\nfrom hiveacid.errors import y"
    assert breaches(tmp_path, hiveacid__reader__plan=source) == []


def test_a_circle_is_told_also_one_for_types_only(tmp_path: Path) -> None:
    (found,) = breaches(
        tmp_path,
        hiveacid__acid__a="from hiveacid.acid.b import x",
        hiveacid__acid__b="if TYPE_CHECKING:\n    from hiveacid.acid.a import y",
    )
    assert "circle" in found and "hiveacid.acid.a -> hiveacid.acid.b -> hiveacid.acid.a" in found
