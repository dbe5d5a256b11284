import json

import pytest

from dbt.adapters.hiveacid.targets.file_records import WrittenFiles

NAMES = ["Day=1/a.parquet", "Day=1/b.parquet", "Day=2/a.parquet", "Day=x%3Ay/city=Ä/a.parquet"]
PARTITIONS = ["day=1", "day=2", "day=x%3Ay/city=Ä"]
WRITTEN = WrittenFiles.of(NAMES)


def test_files_survive_their_text():
    text = json.dumps(WRITTEN.to_json())
    assert WrittenFiles.from_json(json.loads(text)) == WRITTEN
    assert WrittenFiles.of([]).to_json() == {}


def test_files_of_others_do_not_matter():
    more = [*NAMES, "day=1/c.parquet", "Day=1/d.parquet", "Day=3/a.parquet", "stray"]
    assert WRITTEN.gone(more, [*PARTITIONS, "day=3"]) is None
    assert WRITTEN.gone(more, None) is None


@pytest.mark.parametrize(
    ("there", "partitions", "gone"),
    [
        (
            NAMES[1:],
            PARTITIONS,
            "1 of the 4 files that its runs have written are gone from it (Day=1)",
        ),
        (NAMES[:2], PARTITIONS[:1], "2 of the 4 files"),
        # The same name in another partition is another file.
        (NAMES[:2] + ["Day=3/a.parquet"], None, "2 of the 4 files"),
        # The partitions of an external table go without their files.
        (
            NAMES,
            PARTITIONS[1:],
            "2 of the 4 files that its runs have written are gone from it (Day=1)",
        ),
        ([], [], "4 of the 4 files"),
    ],
)
def test_a_file_that_is_gone_is_missed(there, partitions, gone):
    assert WRITTEN.gone(there, partitions).startswith(gone)


def test_files_that_come_to_them_are_missed_too():
    more = WRITTEN.with_more(["Day=2/c.parquet", "Day=3/a.parquet"])
    assert more.gone([*NAMES, "Day=2/c.parquet", "Day=3/a.parquet"], None) is None
    assert more.gone(NAMES, None).endswith("(Day=2, Day=3)")


def test_a_table_without_partitions():
    written = WrittenFiles.of(["a", "b"])
    assert written.gone(["b", "a", "c"], None) is None
    assert (
        written.gone(["c"], None) == "2 of the 2 files that its runs have written are gone from it"
    )


def test_few_of_many_partitions_are_named():
    written = WrittenFiles.of(f"day={day}/a" for day in range(9))
    assert written.gone([], None).endswith("(day=0, day=1, day=2 and 6 more)")
    # So little is kept of a partition.
    assert len(json.dumps(written.to_json())) < 9 * 22
