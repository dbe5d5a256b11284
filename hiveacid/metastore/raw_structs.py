"""Thrift structs with all their fields, known here or not.

`alter_table` replaces a table by the struct that it is given: a field that a client does not know
would be lost. A `RawStruct` writes back everything that it has read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TType

_Texts = Mapping[str, str]


class RawStruct:
    """A thrift struct as its fields by number, each with its type and its value.

    Texts are bytes, lists `(type of elements, elements)`, maps `(type of keys, type of values,
    pairs)`, and structs `RawStruct`.
    """

    def __init__(self, fields: Mapping[int, tuple[int, Any]] | None = None) -> None:
        self.fields = dict(fields or {})

    def read(self, protocol: TProtocolBase) -> None:
        """Read the struct from a connection."""
        protocol.readStructBegin()
        while True:
            _, kind, number = protocol.readFieldBegin()
            if kind == TType.STOP:
                break
            self.fields[number] = (kind, _read(protocol, kind))
            protocol.readFieldEnd()
        protocol.readStructEnd()

    def write(self, protocol: TProtocolBase) -> None:
        """Write the struct to a connection."""
        protocol.writeStructBegin("")
        for number, (kind, value) in sorted(self.fields.items()):
            protocol.writeFieldBegin("", kind, number)
            _write(protocol, kind, value)
            protocol.writeFieldEnd()
        protocol.writeFieldStop()
        protocol.writeStructEnd()

    def copy(self) -> RawStruct:
        """Return a copy that shares nothing with this struct."""
        return copy.deepcopy(self)

    def struct(self, number: int) -> RawStruct:
        """Return the struct in a field."""
        found = self.fields[number][1]
        assert isinstance(found, RawStruct)
        return found

    def structs(self, number: int) -> list[RawStruct]:
        """Return the list of structs in a field; empty if the field is not set."""
        return list(self.fields[number][1][1]) if number in self.fields else []

    def text(self, number: int) -> str:
        """Return the text in a field; empty if the field is not set."""
        return self.fields[number][1].decode() if number in self.fields else ""

    def texts(self, number: int) -> dict[str, str]:
        """Return the map of texts in a field; empty if the field is not set."""
        if number not in self.fields:
            return {}
        return {key.decode(): value.decode() for key, value in self.fields[number][1][2]}

    def set_struct(self, number: int, value: RawStruct) -> None:
        """Set a field to a struct."""
        self.fields[number] = (TType.STRUCT, value)

    def set_structs(self, number: int, values: list[RawStruct]) -> None:
        """Set a field to a list of structs."""
        self.fields[number] = (TType.LIST, (TType.STRUCT, values))

    def set_text(self, number: int, value: str) -> None:
        """Set a field to a text."""
        self.fields[number] = (TType.STRING, value.encode())

    def set_text_list(self, number: int, values: list[str]) -> None:
        """Set a field to a list of texts."""
        self.fields[number] = (TType.LIST, (TType.STRING, [value.encode() for value in values]))

    def set_texts(self, number: int, values: _Texts) -> None:
        """Set a field to a map of texts."""
        pairs = [(key.encode(), value.encode()) for key, value in values.items()]
        self.fields[number] = (TType.MAP, (TType.STRING, TType.STRING, pairs))

    def set_long(self, number: int, value: int) -> None:
        """Set a field to a 64-bit integer."""
        self.fields[number] = (TType.I64, value)

    def set_int(self, number: int, value: int) -> None:
        """Set a field to a 32-bit integer."""
        self.fields[number] = (TType.I32, value)

    def set_flag(self, number: int, value: bool) -> None:
        """Set a field to a boolean."""
        self.fields[number] = (TType.BOOL, value)


_PLAIN: dict[int, tuple[str, str]] = {
    TType.BOOL: ("readBool", "writeBool"),
    TType.BYTE: ("readByte", "writeByte"),
    TType.I16: ("readI16", "writeI16"),
    TType.I32: ("readI32", "writeI32"),
    TType.I64: ("readI64", "writeI64"),
    TType.DOUBLE: ("readDouble", "writeDouble"),
    TType.STRING: ("readBinary", "writeBinary"),
}


def _read(protocol: TProtocolBase, kind: int) -> Any:
    if kind in _PLAIN:
        return getattr(protocol, _PLAIN[kind][0])()
    if kind == TType.STRUCT:
        found = RawStruct()
        found.read(protocol)
        return found
    if kind == TType.MAP:
        key, value, size = protocol.readMapBegin()
        pairs = [(_read(protocol, key), _read(protocol, value)) for _ in range(size)]
        protocol.readMapEnd()
        return key, value, pairs
    begin, end = _ENDS_OF_READING[kind]
    element, size = getattr(protocol, begin)()
    elements = [_read(protocol, element) for _ in range(size)]
    getattr(protocol, end)()
    return element, elements


def _write(protocol: TProtocolBase, kind: int, value: Any) -> None:
    if kind in _PLAIN:
        getattr(protocol, _PLAIN[kind][1])(value)
    elif kind == TType.STRUCT:
        value.write(protocol)
    elif kind == TType.MAP:
        key, of, pairs = value
        protocol.writeMapBegin(key, of, len(pairs))
        for name, item in pairs:
            _write(protocol, key, name)
            _write(protocol, of, item)
        protocol.writeMapEnd()
    else:
        element, elements = value
        is_list = kind == TType.LIST
        begin: Callable[[int, int], None] = (
            protocol.writeListBegin if is_list else protocol.writeSetBegin
        )
        begin(element, len(elements))
        for item in elements:
            _write(protocol, element, item)
        (protocol.writeListEnd if is_list else protocol.writeSetEnd)()


_ENDS_OF_READING = {
    TType.LIST: ("readListBegin", "readListEnd"),
    TType.SET: ("readSetBegin", "readSetEnd"),
}
