"""Java objects of Spark's JVM in Python: single ones, and method handles for many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaClass, JavaGateway
from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import JavaArray, JavaObject, MethodHandle

_PRIMITIVES = {
    "boolean": "Boolean",
    "byte": "Byte",
    "int": "Integer",
    "long": "Long",
    "void": "Void",
}


def java(context: SparkContext, name: str) -> Any:
    """Return a Java class, for its static methods and constructors.

    With `spark._jvm.org.apache…` py4j would look in every jar for classes `org`, `org.apache`, …,
    which takes milliseconds each time.
    """
    assert context._gateway is not None
    return JavaClass(name, context._gateway._gateway_client)


def scala_seq(context: SparkContext, java_list: JavaObject) -> JavaObject:
    """Return a Scala `Seq` of the elements of a `java.util.List`."""
    return java(context, "org.apache.spark.api.python.PythonUtils").toSeq(java_list)


def scala_seq_of(context: SparkContext, elements: Iterable[object]) -> JavaObject:
    """Return a Scala `Seq` of some objects. Costs a call each: for the few in a plan."""
    found = java(context, "java.util.ArrayList")()
    for element in elements:
        found.add(element)
    return scala_seq(context, found)


def scala_map(context: SparkContext, pairs: Iterable[tuple[object, object]]) -> JavaObject:
    """Return an immutable Scala `Map` of some keys and values. Costs a call each."""
    found = getattr(java(context, "scala.collection.immutable.Map$"), "MODULE$").empty()
    for key, value in pairs:
        found = found.updated(key, value)
    return found


def string_array(context: SparkContext, texts: Sequence[str]) -> JavaArray:
    """Return a Java array of texts."""
    assert context._gateway is not None
    array = context._gateway.new_array(java(context, "java.lang.String"), len(texts))
    for index, text in enumerate(texts):
        array[index] = text
    return array


def each(scala_sequence: JavaObject) -> Iterator[Any]:
    """Yield the elements of a Scala `Seq`. Costs a call each: for the few in a plan."""
    return (scala_sequence.apply(i) for i in range(scala_sequence.size()))


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make `session` this thread's active session, whose settings Spark's own code uses.

    Spark does so itself while it analyzes and runs a statement, but not where its code is called
    directly. Its parser would use the session that was last active in this thread, or none.
    """
    sessions = java(session.sparkContext, "org.apache.spark.sql.SparkSession")
    previous = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if previous.isDefined():
            sessions.setActiveSession(previous.get())
        else:
            sessions.clearActiveSession()


class MethodHandles:
    """Method handles of one JVM. Threads may share it. The module `bulk` has a worked example."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._client = gateway._gateway_client
        self._new_array: Callable[[JavaObject, int], JavaArray] = gateway.new_array
        self._handles = self.java("java.lang.invoke.MethodHandles")
        self._method_type = self.java("java.lang.invoke.MethodType").methodType
        self._as_interface = self.java("java.lang.invoke.MethodHandleProxies").asInterfaceInstance
        self._insert_arguments = self._handles.insertArguments
        self._lookup = self._handles.publicLookup()
        self._loader = self.java("java.lang.Thread").currentThread().getContextClassLoader()
        self._classes: dict[str, JavaObject] = {}

    def java(self, name: str) -> Any:
        """Return a Java class, for its static methods and constructors."""
        return JavaClass(name, self._client)

    def class_(self, name: str) -> JavaObject:
        """Return a class by its name, or a primitive type.

        `[Name;` is the class of an array of objects, `[J` of an array of longs. A name without a
        dot is a class of `java.lang`.
        """
        if name not in self._classes:
            self._classes[name] = self._class(name)
        return self._classes[name]

    def _class(self, name: str) -> JavaObject:
        if name in _PRIMITIVES:
            return self.java(f"java.lang.{_PRIMITIVES[name]}").TYPE
        if name.startswith("["):
            name = name if name == "[J" else f"[L{_full(name[1:])}"
        return self.java("java.lang.Class").forName(_full(name), True, self._loader)

    def method(
        self, owner: str, name: str, returns: str, takes: Sequence[str] = ()
    ) -> MethodHandle:
        """Return a public method of `owner`; its first argument is the object itself."""
        return self._lookup.findVirtual(self.class_(owner), name, self._type(returns, takes))

    def property_of(self, owner: str, name: str) -> MethodHandle:
        """Return a public method without arguments, whatever it returns.

        The type of a Scala sequence in a signature depends on the version of Scala.
        """
        found = self.class_(owner).getMethod(name, self._array("Class", []))
        return self._lookup.unreflect(found)

    def static(
        self, owner: str, name: str, returns: str, takes: Sequence[str] = ()
    ) -> MethodHandle:
        """Return a public static method."""
        handle = self._lookup.findStatic(self.class_(owner), name, self._type(returns, takes))
        return handle.asFixedArity()

    def constructor(self, owner: str, takes: Sequence[str]) -> MethodHandle:
        """Return a public constructor."""
        return self._lookup.findConstructor(self.class_(owner), self._type("void", takes))

    def with_constants(self, handle: MethodHandle, position: int, *values: object) -> MethodHandle:
        """Return `handle` with constants for its arguments from `position` on.

        Each constant must be a Java object.
        """
        return self._insert_arguments(handle, position, self._array("Object", values))

    def constant(self, type_: str, value: object) -> MethodHandle:
        """Return the function without arguments that returns `value` as a type."""
        return self._handles.constant(self.class_(type_), value)

    def if_then_else(
        self, test: MethodHandle, then: MethodHandle, otherwise: MethodHandle
    ) -> MethodHandle:
        """Return the function of an object: `then` if `test` of it is true, else `otherwise`.

        `then` has no arguments.
        """
        takes = self._array("Class", [otherwise.type().parameterType(0)])
        return self._handles.guardWithTest(
            test, self._handles.dropArguments(then, 0, takes), otherwise
        )

    def choose(
        self, test: MethodHandle, then: MethodHandle, otherwise: MethodHandle
    ) -> MethodHandle:
        """Return the function of an object: `then` of it if `test` of it is true, or `otherwise`.

        `test` accepts any object.
        """
        takes = self._array("Class", [self.class_("Object")])
        kind = self._method_type(self.class_("Object"), takes)
        return self._handles.guardWithTest(test, then.asType(kind), otherwise.asType(kind))

    def is_a(self, name: str) -> MethodHandle:
        """Return the test whether any object is an instance of a class."""
        is_instance = self.method("Class", "isInstance", "boolean", ["Object"])
        return is_instance.bindTo(self.class_(name))

    def identity(self) -> MethodHandle:
        """Return the function from an object to itself."""
        return self._handles.identity(self.class_("Object"))

    def always(self, value: object) -> MethodHandle:
        """Return the function of any object that returns `value`."""
        return self.of_any(self._handles.constant(self.class_("Object"), value))

    def of_any(self, handle: MethodHandle) -> MethodHandle:
        """Return the function of any object that calls `handle`, which has no arguments."""
        takes = self._array("Class", [self.class_("Object")])
        return self._handles.dropArguments(handle, 0, takes)

    def throwing(self, error: str) -> MethodHandle:
        """Return the function of an error of a class that throws the error."""
        return self._handles.throwException(self.class_("Object"), self.class_(error))

    def implement(self, interface: str, handle: MethodHandle) -> JavaObject:
        """Return an object of an interface with a single method, which calls `handle`."""
        return self._as_interface(self.class_(interface), handle)

    def then(self, *handles: MethodHandle) -> MethodHandle:
        """Return the composition of functions: each is applied to the previous one's result."""
        first, *others = handles
        for second in others:
            wanted = second.type().parameterType(0)
            first = self._handles.filterReturnValue(
                first.asType(first.type().changeReturnType(wanted)), second
            )
        return first

    def after(self, effect: MethodHandle) -> MethodHandle:
        """Return the function from an object to itself that calls `effect` with it first."""
        identity = self._handles.identity(effect.type().parameterType(0))
        return self._handles.foldArguments(identity, effect)

    def on(self, handle: MethodHandle, position: int, make: MethodHandle) -> MethodHandle:
        """Return `handle` with the result of `make` as its argument at `position`.

        The arguments of `make` replace this argument.
        """
        wanted = handle.type().parameterType(position)
        make = make.asType(make.type().changeReturnType(wanted))
        return self._handles.collectArguments(handle, position, make)

    def permuted(self, handle: MethodHandle, *order: int) -> MethodHandle:
        """Return the function whose argument `order[i]` is the i-th of `handle`."""
        type_ = handle.type()
        takes = [type_.parameterType(order.index(i)) for i in range(max(order) + 1)]
        reorder = self._new_array(self.java("int"), len(order))
        for i, argument in enumerate(order):
            reorder[i] = argument
        wanted = self._method_type(type_.returnType(), self._array("Class", takes))
        return self._handles.permuteArguments(handle, wanted, reorder)

    def collecting(self, handle: MethodHandle, array: str) -> MethodHandle:
        """Return `handle` with a single element in place of its last argument, an array."""
        return handle.asCollector(self.class_(array), 1)

    def element(self, element: str, index: int) -> MethodHandle:
        """Return the function from an array of `element` to its element at `index`."""
        return self.with_constants(self.getter(element), 1, index)

    def getter(self, element: str) -> MethodHandle:
        """Return the function from an array of `element` and an index to the element there."""
        array = self.class_("[J" if element == "long" else f"[{element};")
        return self._handles.arrayElementGetter(array)

    def _type(self, returns: str, takes: Sequence[str]) -> JavaObject:
        parameters = self._array("Class", [self.class_(name) for name in takes])
        return self._method_type(self.class_(returns), parameters)

    def _array(self, element: str, values: Sequence[object]) -> JavaArray:
        array = self._new_array(self.java(f"java.lang.{element}"), len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array


def _full(name: str) -> str:
    return name if "." in name or name.startswith("[") else f"java.lang.{name}"
