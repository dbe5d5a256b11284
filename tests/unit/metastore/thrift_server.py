"""A metastore in this process: a real socket, thrift's own server, canned answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hiveacid.metastore import thrift

Handler = Callable[..., Any]
HANG_UP = object()
"""What a handler returns to close the connection without an answer."""

_OURS = {call.name: call for call in vars(thrift).values() if isinstance(call, thrift.Call)}


class ThriftServer:
    """Answers each call with `handlers[name](*arguments)`; a raised declared error is sent.

    A call without a handler is an unknown method, as a metastore answers it. `calls` records the
    names in order, `connections` counts the accepted sockets.
    """

    def __init__(
        self,
        handlers: dict[str, Handler],
        greet: Callable[[socket.socket], Any] | None = None,
    ) -> None:
        """`greet` does TLS or SASL on a new socket; it returns the socket or transport to use."""
        self.handlers = handlers
        self.greet = greet
        self.calls: list[str] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def drop_connections(self) -> None:
        for handle in self._open:
            try:
                handle.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._open.clear()

    def close(self) -> None:
        # A blocked accept() is woken by shutdown, not by close.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                handle, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(handle)
            threading.Thread(target=self._serve, args=(handle,), daemon=True).start()

    def _serve(self, handle: socket.socket) -> None:
        try:
            greeted = handle if self.greet is None else self.greet(handle)
        except (OSError, EOFError, ValueError, TTransportException):
            close_after_the_client(handle)  # it has gone, or was refused
            return
        if isinstance(greeted, socket.socket):
            thrift_socket = TSocket()
            thrift_socket.setHandle(greeted)
            transport: Any = TBufferedTransport(thrift_socket)
        else:
            transport = greeted
        protocol = TBinaryProtocol(transport)
        try:
            while self._answer(protocol):
                pass
        except (TTransportException, OSError, EOFError, AttributeError):
            pass  # the client has gone
        finally:
            transport.close()

    def _answer(self, protocol: TBinaryProtocol) -> bool:
        name, _, seqid = protocol.readMessageBegin()
        self.calls.append(name)
        arguments: Any
        result: Any
        if name in _OURS:
            arguments, result = _OURS[name].arguments(), _OURS[name].result()
        else:
            arguments = getattr(ThriftHiveMetastore, f"{name}_args", None) or _fb303(name, "args")
            result = getattr(ThriftHiveMetastore, f"{name}_result", None) or _fb303(name, "result")
            arguments, result = arguments(), result()
        arguments.read(protocol)
        protocol.readMessageEnd()
        handler = self.handlers.get(name)
        kind, answer = TMessageType.REPLY, result
        if handler is None:
            kind = TMessageType.EXCEPTION
            answer = TApplicationException(
                TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{name}'"
            )
        else:
            fields = [field for field in arguments.thrift_spec if field is not None]
            try:
                success = handler(*(getattr(arguments, field[2]) for field in fields))
                if success is HANG_UP:
                    return False
                result.success = success
            except TException as error:
                _declare(result, error)
        protocol.writeMessageBegin(name, kind, seqid)
        answer.write(protocol)
        protocol.writeMessageEnd()
        protocol.trans.flush()
        return True


def close_after_the_client(handle: socket.socket) -> None:
    """Close a socket so that the client still gets what was sent last."""
    try:
        handle.shutdown(socket.SHUT_WR)
        handle.settimeout(1)
        while handle.recv(4096):
            pass
    except OSError:
        pass
    finally:
        handle.close()


def _fb303(name: str, suffix: str) -> type:
    from hmsclient.genthrift.fb303 import FacebookService

    return getattr(FacebookService, f"{name}_{suffix}")


def _declare(result: Any, error: TException) -> None:
    """Put the error into the field of the result that is declared for its class."""
    for field in result.thrift_spec:
        if field and field[1] == TType.STRUCT and field[3][0] is type(error):
            setattr(result, field[2], error)
            return
    raise AssertionError(f"{type(error).__name__} is not declared by {type(result).__name__}")
