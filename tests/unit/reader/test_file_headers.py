"""Headers of files that are remembered for the life of a process."""

from __future__ import annotations

import json

import pytest
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.reader import file_headers as module
from hiveacid.reader.file_headers import FileHeader, KnownHeaders, _avro_stamps, file_headers

FILES = [ListedFile(f"delta_1_1/{i}", f"file:/t/delta_1_1/{i}", 9) for i in range(6)]
HEADER = FileHeader(StructType())


def test_headers_that_were_used_longest_ago_are_forgotten() -> None:
    known = KnownHeaders()
    known.put(dict.fromkeys(FILES[:3], HEADER), at_most=3)
    assert list(known.get(FILES[:1])) == FILES[:1]
    known.put({FILES[3]: HEADER}, at_most=3)
    assert list(known.get(FILES)) == [FILES[0], FILES[2], FILES[3]]


def test_a_file_is_asked_once_and_a_table_of_any_size_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[ListedFile] = []

    def ask_file(spark: object, file: ListedFile, format: str, question: object) -> FileHeader:
        asked.append(file)
        return HEADER

    monkeypatch.setattr(module, "ask_file", ask_file)
    monkeypatch.setattr(module, "_KNOWN", KnownHeaders())
    monkeypatch.setattr(module, "_KEPT_HEADERS", 2)
    for files in (FILES[:4], FILES[:4], [FILES[0], FILES[5]]):
        assert list(file_headers(None, "parquet", files)) == files
    assert sorted(file.relative for file in asked) == [f"delta_1_1/{i}" for i in (0, 1, 2, 3, 5)]


def test_an_avro_column_that_refers_to_a_type_by_name_may_have_its_timestamps() -> None:
    def stamp(kind: str) -> dict[str, str]:
        return {"type": "long", "logicalType": f"timestamp-{kind}"}

    def record(name: str, **types: object) -> dict[str, object]:
        fields = [{"name": key, "type": type_} for key, type_ in types.items()]
        return {"type": "record", "name": name, "fields": fields}

    columns = {
        "named": record("event", at=stamp("micros")),
        "both": ["null", record("pair", at=stamp("millis"), event="event")],
        "events": {"type": "array", "items": {"type": "map", "values": ["null", "event"]}},
        "at": ["null", stamp("millis")],
        "N": {"type": "enum", "name": "color", "symbols": ["red"]},
    }
    of_all = ("timestamp-micros", "timestamp-millis")
    assert _avro_stamps(json.dumps(record("rows", **columns))) == {
        "named": ("timestamp-micros",),
        "both": of_all,
        "events": of_all,
        "at": ("timestamp-millis",),
        "n": (),
    }
