"""The loader of the SQL files of `integration/data`."""

from __future__ import annotations

import pytest

from integration.support.sql_files import DATA, Case, cases_of, parse_cases

TEXT = """\
-- Whatever a reader should know.

-- group: two words
-- A remark: it is none of the notes.
select 1;
-- other_words: 3.5
-- reason: it has ';' inside
create table {t} (
id int);
  insert into {t}
    values (';'), (2) -- no remark;
  drop table {t};

-- group: named
-- name: the last
select 2; select 3;
select 4;;
"""


def test_a_file_has_groups_cases_and_statements() -> None:
    assert parse_cases(TEXT) == [
        Case("two_words_1", ("select 1",), "two words"),
        Case(
            "two_words_2",
            (
                "create table {t} (\nid int)",
                "insert into {t}\n    values (';'), (2) -- no remark",
                "drop table {t}",
            ),
            "two words",
            {"other_words": "3.5", "reason": "it has ';' inside"},
        ),
        Case("the last", ("select 2; select 3",), "named"),
        Case("named_2", ("select 4;",), "named"),
    ]


def test_placeholders_are_replaced_and_one_is_the_name_of_the_case() -> None:
    case = Case("c", ("select {a} from {name}", "select '${b}'"))
    assert case.fill({"a": "1"}) == ["select 1 from c", "select '${b}'"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select 1;\nselect 2", "without an end"),
        ("select 1;\n-- name: none follows", "without an end"),
        ("-- resaon: typed wrong\nselect 1;", "no such note"),
        ("  select 1;", "begins no case"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_cases(text)


def test_every_case_has_a_name_of_its_own() -> None:
    files = [path.relative_to(DATA).as_posix() for path in DATA.rglob("*.sql")]
    for file in files:
        names = [case.name for case in cases_of(file)]
        assert names and len(names) == len(set(names)), file
