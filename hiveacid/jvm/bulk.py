"""Java methods on arrays of thousands of objects, in a handful of calls to the JVM.

A call through py4j takes a tenth of a millisecond, often more than the work itself. Java's streams
run a function over a whole array inside the JVM. So Python composes a function of method handles
once; after that each array costs one call, or a few.

A worked example: the length of each trimmed text, in one call for the whole array. A method handle
of `String.trim()` takes the text itself as its first argument. `then` adds a call of
`String.length()`. `integers` makes it a function of an array::

    >>> bulk = bulk_of(spark)
    >>> trim = bulk.method("String", "trim", "String")
    >>> length = bulk.method("String", "length", "int")
    >>> trimmed_lengths = bulk.integers(bulk.then(trim, length))
    >>> trimmed_lengths(bulk.objects([" a ", "bcd", ""]))
    [1, 3, 0]

Further arguments of a method are constants, by their position after the object itself::

    >>> concat = bulk.method("String", "concat", "String", ["String"])
    >>> exclaimed = bulk.strings(bulk.with_constants(concat, 1, "!"))
    >>> exclaimed(bulk.objects(["a", "b"]))
    ['a!', 'b!']
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import JavaArray, JavaObject, MethodHandle
from hiveacid.jvm.py4j import MethodHandles

_SEPARATOR = "\0"
"""A character that occurs in no path and no Java identifier."""

_FUNCTION = "java.util.function.Function"
_BI_FUNCTION = "java.util.function.BiFunction"
_INT_FUNCTION = "java.util.function.IntFunction"
_TO_LONG_FUNCTION = "java.util.function.ToLongFunction"
_STREAM = "java.util.stream.Stream"
_INT_STREAM = "java.util.stream.IntStream"
_LONG_STREAM = "java.util.stream.LongStream"
_COLLECTOR = "java.util.stream.Collector"
_ARRAYS = "java.util.Arrays"


def bulk_of(spark: SparkSession) -> Bulk:
    """Return the object for Spark's JVM; there is one for each JVM."""
    return _bulk_of(spark.sparkContext._gateway)


@lru_cache(maxsize=1)
def _bulk_of(gateway: JavaGateway) -> Bulk:
    return Bulk(gateway)


@lru_cache
def parameter_types(context: SparkContext, owner: str, method: str) -> tuple[str, ...]:
    """Return the parameter types of a public method, of its overload with most parameters.

    Later Spark releases add parameters to internal methods.
    """
    bulk = _bulk_of(context._gateway)
    texts = " ".join(bulk.texts(bulk.class_(owner).getMethods()))
    overloads = re.findall(rf"\.{re.escape(method)}\(([^)]*)\)", texts)
    return max((tuple(filter(None, it.split(","))) for it in overloads), key=len, default=())


class Bulk(MethodHandles):
    """Arrays of one JVM, and functions of arrays. Threads may share the object."""

    # From Python to Java

    def paths(self, paths: Iterable[str]) -> JavaArray:
        """Return a `Path[]` of at least one path, each written as by `Path.toString`."""
        return self._to_paths(_SEPARATOR.join(paths))

    @cached_property
    def _to_paths(self) -> Callable[[str], JavaArray]:
        split = self.method("java.util.regex.Pattern", "split", "[String;", ["CharSequence"])
        to_paths = self.static(
            "org.apache.hadoop.util.StringUtils",
            "stringToPath",
            "[org.apache.hadoop.fs.Path;",
            ["[String;"],
        )
        return self._call(self.then(split.bindTo(self._separator), to_paths))

    def longs(self, values: Iterable[int]) -> JavaArray:
        """Return a `long[]` of at least one number."""
        return self._to_longs(_SEPARATOR.join(map(str, values)))

    @cached_property
    def _to_longs(self) -> Callable[[str], JavaArray]:
        parse = self.static("Long", "parseLong", "long", ["String"])
        mapped = self.with_constants(self._map_to_long, 1, self.implement(_TO_LONG_FUNCTION, parse))
        return self._call(self.then(self._pieces, mapped, self._to_longs_array))

    @cached_property
    def _pieces(self) -> MethodHandle:
        """The function from a text to the stream of its parts."""
        split = self.method("java.util.regex.Pattern", "splitAsStream", _STREAM, ["CharSequence"])
        return split.bindTo(self._separator)

    def texts_list(self, texts: Iterable[str]) -> JavaObject:
        """Return a `java.util.List` of at least one text."""
        return self._to_texts_list(_SEPARATOR.join(texts))

    @cached_property
    def _to_texts_list(self) -> Callable[[str], JavaObject]:
        return self._call(self.then(self._pieces, self._collected("toList")))

    def objects(self, values: Sequence[object]) -> JavaArray:
        """Return an `Object[]` of Java objects."""
        return self._array("Object", values)

    @cached_property
    def _separator(self) -> JavaObject:
        return self.java("java.util.regex.Pattern").compile(_SEPARATOR)

    # Functions of arrays

    def map(self, handle: MethodHandle) -> Callable[[JavaArray], JavaArray]:
        """Return the function from an array to an `Object[]` of `handle`'s results."""
        function = self.implement(_FUNCTION, handle)
        return lambda array: self._map_elements(array, function)

    def strings(self, handle: MethodHandle) -> Callable[[JavaArray], list[str]]:
        """Return the function from an array to `toString` of `handle`'s results."""
        function = self.implement(_FUNCTION, handle)

        def strings(array: JavaArray) -> list[str]:
            text = self._join_elements(array, function)
            # Only the length distinguishes no element from one empty string.
            found: list[str] = text.split(_SEPARATOR)[1:] if len(text) > 1 or len(array) else []
            return found

        return strings

    def integers(self, handle: MethodHandle) -> Callable[[JavaArray], list[int]]:
        """Return the function from an array to `handle`'s results, which are longs."""
        function = self.implement(_TO_LONG_FUNCTION, handle)
        # Java prints `[1, 2]`, which is JSON: parsed in one call.
        return lambda array: json.loads(self._print_longs(array, function))

    def booleans(self, handle: MethodHandle) -> Callable[[JavaArray], list[bool]]:
        """Return the function from an array to `handle`'s results, which are booleans."""
        function = self.implement(_FUNCTION, handle)
        return lambda array: json.loads(self._print_elements(array, function))

    def zipped(self, handle: MethodHandle, *elements: str) -> Callable[..., JavaArray]:
        """Return the function from several arrays to an `Object[]` of `handle`'s results.

        The last arguments of `handle` are one element of each array, of the types `elements`. The
        arguments before them are the same for all elements. The arguments of the returned function
        are the length of the arrays, the constant arguments, and the arrays.
        """
        total = handle.type().parameterCount()
        constants, index = total - len(elements), total
        order = list(range(constants))
        # Each element becomes two arguments, an array and an index; then all indexes are merged.
        for position in reversed(range(constants, total)):
            handle = self.on(handle, position, self.getter(elements[position - constants]))
        for position in range(constants, total):
            order += [position, index]
        at_index = self.permuted(handle, *order)

        def zipped(length: int, *arguments: object) -> JavaArray:
            bound = self.with_constants(at_index, 0, *arguments)
            return self._count_up(length, self.implement(_INT_FUNCTION, bound))

        return zipped

    @cached_property
    def _count_up(self) -> Callable[[int, JavaObject], JavaArray]:
        """The function from a length and an `IntFunction` to its results for 0, 1, …"""
        numbers = self.static(_INT_STREAM, "range", _INT_STREAM, ["int", "int"])
        map_ = self.method(_INT_STREAM, "mapToObj", _STREAM, [_INT_FUNCTION])
        mapped = self.on(map_, 0, self.with_constants(numbers, 0, 0))
        return self._call(self.then(mapped, self._to_array), _BI_FUNCTION)

    def some(self, array: JavaArray, indexes: Sequence[int]) -> JavaArray:
        """Return an `Object[]` of the elements of an `Object[]` at the given indexes."""
        if not indexes:
            return self.objects([])
        element = self.implement(_FUNCTION, self._at_index.bindTo(array))
        return self._map_pieces(_SEPARATOR.join(map(str, indexes)), element)

    @cached_property
    def _at_index(self) -> MethodHandle:
        parse = self.static("Integer", "parseInt", "int", ["String"])
        return self.on(self.getter("Object"), 1, parse)

    @cached_property
    def _map_pieces(self) -> Callable[[str, JavaObject], JavaArray]:
        mapped = self.on(self._map, 0, self._pieces)
        return self._call(self.then(mapped, self._to_array), _BI_FUNCTION)

    @cached_property
    def to_list(self) -> Callable[[JavaArray], JavaObject]:
        """The function from an array to a `java.util.List` of its elements."""
        return self._call(self.then(self._elements, self._collected("toList")))

    @cached_property
    def texts(self) -> Callable[[JavaArray], list[str]]:
        """The function from an array to `toString` of each element."""
        return self.strings(self._handles.identity(self.class_("Object")))

    # Functions of an array and of a function of its elements

    @cached_property
    def _map_elements(self) -> Callable[[JavaArray, JavaObject], JavaArray]:
        return self._call(self.then(self._mapped, self._to_array), _BI_FUNCTION)

    @cached_property
    def _print_elements(self) -> Callable[[JavaArray, JavaObject], str]:
        to_text = self.static(_ARRAYS, "toString", "String", ["[Object;"])
        return self._call(self.then(self._mapped, self._to_array, to_text), _BI_FUNCTION)

    @cached_property
    def _print_longs(self) -> Callable[[JavaArray, JavaObject], str]:
        mapped = self.on(self._map_to_long, 0, self._elements)
        to_text = self.static(_ARRAYS, "toString", "String", ["[J"])
        return self._call(self.then(mapped, self._to_longs_array, to_text), _BI_FUNCTION)

    @cached_property
    def _join_elements(self) -> Callable[[JavaArray, JavaObject], str]:
        to_string = self.implement(_FUNCTION, self.method("Object", "toString", "String"))
        texts = self.with_constants(self._map, 1, to_string)
        joined = self._collected("joining", _SEPARATOR, _SEPARATOR, "")
        return self._call(self.then(self._mapped, texts, joined), _BI_FUNCTION)

    # Parts of the functions

    def _call(self, handle: MethodHandle, interface: str = _FUNCTION) -> Callable[..., Any]:
        call: Callable[..., Any] = self.implement(interface, handle).apply
        return call

    @cached_property
    def _elements(self) -> MethodHandle:
        return self.static(_ARRAYS, "stream", _STREAM, ["[Object;"])

    @cached_property
    def _map(self) -> MethodHandle:
        return self.method(_STREAM, "map", _STREAM, [_FUNCTION])

    @cached_property
    def _map_to_long(self) -> MethodHandle:
        return self.method(_STREAM, "mapToLong", _LONG_STREAM, [_TO_LONG_FUNCTION])

    @cached_property
    def _mapped(self) -> MethodHandle:
        return self.on(self._map, 0, self._elements)

    @cached_property
    def _to_array(self) -> MethodHandle:
        return self.method(_STREAM, "toArray", "[Object;")

    @cached_property
    def _to_longs_array(self) -> MethodHandle:
        return self.method(_LONG_STREAM, "toArray", "[J")

    def _collected(self, collector: str, *arguments: str) -> MethodHandle:
        collect = self.method(_STREAM, "collect", "Object", [_COLLECTOR])
        collectors = self.java("java.util.stream.Collectors")
        return self.with_constants(collect, 1, getattr(collectors, collector)(*arguments))
