"""One Java method for thousands of objects, in a handful of calls to the JVM.

A call through py4j takes a tenth of a millisecond, often more than the work itself. Java's streams
run a method over a whole array inside the JVM. They want function objects, which py4j cannot make;
`java.lang.invoke` makes them of any public method (a *method handle*), without code of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

_SEPARATOR = "\0"
"""No path and no Java identifier has it."""

_PRIMITIVES = {
    "boolean": "Boolean",
    "byte": "Byte",
    "int": "Integer",
    "long": "Long",
    "void": "Void",
}


class Bulk:
    """Methods and arrays of one JVM. Cheap to make; threads may share one."""

    def __init__(self, spark: SparkSession) -> None:
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        self._client = gateway._gateway_client
        self._new_array: Callable[[Any, int], Any] = gateway.new_array
        self._handles = self.java("java.lang.invoke.MethodHandles")
        self._method_type = self.java("java.lang.invoke.MethodType").methodType
        self._lookup = self._handles.publicLookup()
        self._loader = self.java("java.lang.Thread").currentThread().getContextClassLoader()
        self._classes: dict[str, Any] = {}
        self._stream_of = self._function(
            "Function",
            self.static("java.util.Arrays", "stream", "java.util.stream.Stream", ["[Object;"]),
        )

    def java(self, name: str) -> Any:
        """A Java class, for its static methods and constructors, as `spark.jvm.java` gives it."""
        return JavaClass(name, self._client)

    # Method handles

    def class_(self, name: str) -> Any:
        """A class by its name; a primitive type; `[Name;` for an array of objects, `[J` of longs.

        A name without a dot is one of `java.lang`.
        """
        if name not in self._classes:
            self._classes[name] = self._class(name)
        return self._classes[name]

    def _class(self, name: str) -> Any:
        if name in _PRIMITIVES:
            return self.java(f"java.lang.{_PRIMITIVES[name]}").TYPE
        if name.startswith("["):
            name = name if name == "[J" else f"[L{_full(name[1:])}"
        return self.java("java.lang.Class").forName(_full(name), True, self._loader)

    def method(self, owner: str, name: str, returns: str, takes: Sequence[str] = ()) -> Any:
        """A public method of `owner`; its first argument is the object itself."""
        return self._lookup.findVirtual(self.class_(owner), name, self._type(returns, takes))

    def static(self, owner: str, name: str, returns: str, takes: Sequence[str] = ()) -> Any:
        """A public static method."""
        handle = self._lookup.findStatic(self.class_(owner), name, self._type(returns, takes))
        return handle.asFixedArity()

    def constructor(self, owner: str, takes: Sequence[str]) -> Any:
        """A public constructor."""
        return self._lookup.findConstructor(self.class_(owner), self._type("void", takes))

    def with_constants(self, handle: Any, position: int, *values: Any) -> Any:
        """`handle` with its arguments from `position` on given; each must be a Java object."""
        return self._handles.insertArguments(handle, position, self._array("Object", values))

    def constant(self, type_: str, value: int) -> Any:
        """The function without arguments that gives a number of a primitive type."""
        return self._handles.constant(self.class_(type_), value)

    def if_then_else(self, test: Any, then: Any, otherwise: Any) -> Any:
        """`otherwise` of an object, or the constant `then` if `test` of it is true."""
        takes = self._array("Class", [otherwise.type().parameterType(0)])
        return self._handles.guardWithTest(
            test, self._handles.dropArguments(then, 0, takes), otherwise
        )

    def implement(self, interface: str, handle: Any) -> Any:
        """An object of an interface with one method, which is `handle`."""
        return self.java("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(
            self.class_(interface), handle
        )

    def then(self, first: Any, second: Any) -> Any:
        """`second` applied to what `first` returns."""
        wanted = second.type().parameterType(0)
        return self._handles.filterReturnValue(
            first.asType(first.type().changeReturnType(wanted)), second
        )

    def after(self, effect: Any) -> Any:
        """The function from an object to itself that calls `effect` with it first."""
        identity = self._handles.identity(effect.type().parameterType(0))
        return self._handles.foldArguments(identity, effect)

    def on(self, make: Any, method: Any) -> Any:
        """`method` of an object that `make`, which takes no argument, makes for each call."""
        return self._handles.collectArguments(method, 0, make)

    def of_one(self, handle: Any, *arguments: Any) -> Any:
        """`handle` as a function of a single argument x: its i-th argument is `arguments[i]`(x).

        None stands for x itself.
        """
        for i, argument in enumerate(arguments):
            if argument is not None:
                wanted = handle.type().parameterType(i)
                argument = argument.asType(argument.type().changeReturnType(wanted))
                handle = self._handles.filterArguments(
                    handle, i, self._array("invoke.MethodHandle", [argument])
                )
        type_ = handle.type()
        reorder = self._new_array(self.java("int"), len(arguments))
        for i in range(len(arguments)):
            reorder[i] = 0
        single = self._method_type(type_.returnType(), type_.parameterType(0))
        return self._handles.permuteArguments(handle, single, reorder)

    def collecting(self, handle: Any, array: str) -> Any:
        """`handle`, whose last argument is an array, with one element in its place."""
        return handle.asCollector(self.class_(array), 1)

    def element_of(self, array: Any, element: str) -> Any:
        """The function from an index to that element of `array`, whose elements are `element`."""
        return self._getter(element).bindTo(array)

    def element(self, element: str, index: int) -> Any:
        """The function from an array, whose elements are `element`, to the one at `index`."""
        return self.with_constants(self._getter(element), 1, index)

    def _getter(self, element: str) -> Any:
        array = self.class_("[J" if element == "long" else f"[{element};")
        return self._handles.arrayElementGetter(array)

    # Arrays

    def paths(self, paths: Iterable[str]) -> Any:
        """A `Path[]` from the paths as `Path.toString` gives them."""
        return self.java("org.apache.hadoop.util.StringUtils").stringToPath(self._split(paths))

    def longs(self, values: Iterable[int]) -> Any:
        """A `long[]`."""
        parse = self.static("Long", "parseLong", "long", ["String"])
        stream = self._stream_of.apply(self._split(map(str, values)))
        return stream.mapToLong(self._function("ToLongFunction", parse)).toArray()

    def objects(self, values: Sequence[Any]) -> Any:
        """An `Object[]` of some Java objects."""
        return self._array("Object", values)

    def count_up(self, length: int, handle: Any) -> Any:
        """An `Object[]` of `handle`(0), `handle`(1), … `handle`(`length` - 1)."""
        numbers = self.java("java.util.stream.IntStream").range(0, length)
        return numbers.mapToObj(self._function("IntFunction", handle)).toArray()

    def map(self, array: Any, handle: Any) -> Any:
        """An `Object[]` of what `handle` makes of each element."""
        return self._stream_of.apply(array).map(self._function("Function", handle)).toArray()

    def for_each(self, array: Any, handle: Any) -> None:
        """Call `handle` with each element."""
        self._stream_of.apply(array).forEach(self._function("Consumer", handle))

    def to_list(self, array: Any) -> Any:
        """A `java.util.List` of the elements."""
        return self._stream_of.apply(array).collect(
            self.java("java.util.stream.Collectors").toList()
        )

    # From Java to Python

    def strings(self, array: Any, handle: Any) -> list[str]:
        """`toString` of what `handle` makes of each element."""
        to_string = self.method("Object", "toString", "String")
        stream = self._stream_of.apply(array).map(
            self._function("Function", self.then(handle, to_string))
        )
        # Told apart: no element, and one that is an empty string.
        joined = stream.collect(
            self.java("java.util.stream.Collectors").joining(_SEPARATOR, _SEPARATOR, "")
        )
        return joined.split(_SEPARATOR)[1:] if len(joined) > 1 or len(array) else []

    def texts(self, array: Any) -> list[str]:
        """`toString` of each element."""
        return self.strings(array, self.method("Object", "toString", "String"))

    def integers(self, array: Any, handle: Any) -> list[int]:
        """The long that `handle` makes of each element."""
        stream = self._stream_of.apply(array).mapToLong(self._function("ToLongFunction", handle))
        # `[1, 2]`, as JSON has it: read in one go.
        found: list[int] = json.loads(self.java("java.util.Arrays").toString(stream.toArray()))
        return found

    def booleans(self, array: Any, handle: Any) -> list[bool]:
        """The boolean that `handle` makes of each element."""
        text = self.java("java.util.Arrays").toString(self.map(array, handle))
        found: list[bool] = json.loads(text)
        return found

    def _split(self, items: Iterable[str]) -> Any:
        text = _SEPARATOR.join(items)
        if not text:
            return self._new_array(self.java("java.lang.String"), 0)
        return self.java("java.util.regex.Pattern").compile(_SEPARATOR).split(text)

    def _function(self, interface: str, handle: Any) -> Any:
        return self.implement(f"java.util.function.{interface}", handle)

    def _type(self, returns: str, takes: Sequence[str]) -> Any:
        parameters = self._array("Class", [self.class_(name) for name in takes])
        return self._method_type(self.class_(returns), parameters)

    def _array(self, element: str, values: Sequence[Any]) -> Any:
        array = self._new_array(self.java(f"java.lang.{element}"), len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array


def _full(name: str) -> str:
    return name if "." in name or name.startswith("[") else f"java.lang.{name}"
