# SPDX-License-Identifier: GPL-3.0-or-later
"""`struct` for scripts: converts numbers to bytes and back, with a limit on the length."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..guard.facade import Facade, hide, seal
from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from .errors import StructError, raising

__all__ = ("struct_members",)

_FORMAT: Final = 10_000
"""The most characters that a format may have."""
_METHODS: Final = ("pack", "pack_into", "unpack", "unpack_from", "iter_unpack")
Functions = dict[str, Callable[..., Any]]


class Struct(Facade):
    """The object that `struct.Struct(format)` returns."""

    __slots__ = ("about",)

    def __init__(self, pattern: str, size: int, functions: Functions) -> None:
        _set_about(self, (pattern, size, functions))

    @property
    def format(self) -> Any:
        """The format, as text."""
        return _about(self)[0]

    @property
    def size(self) -> Any:
        """The number of bytes that the format describes."""
        return _about(self)[1]


_about, _set_about = hide(Struct, "about")


def _method(name: str) -> Callable[..., Any]:
    def method(self: Struct, *arguments: Any) -> Any:
        pattern, _size, functions = _about(self)
        return functions[name](pattern, *arguments)

    method.__name__ = method.__qualname__ = name
    return method


for _name in _METHODS:
    setattr(Struct, _name, _method(_name))


def struct_members(guard: Guard) -> dict[str, object]:
    """Return the members of `struct`, for one run."""

    def sized(pattern: Any) -> tuple[str, int]:
        """Return the format as text, and the number of bytes that it describes."""
        if type(pattern) is bytes:
            pattern = pattern.decode("ascii", "replace")
        if type(pattern) is not str:
            raise TypeError(
                f"Struct() argument 1 must be a str or bytes object, not {type(pattern).__name__}"
            )
        if len(pattern) > _FORMAT:
            guard.meter.exceed(f"a struct format has at most {_FORMAT:,} characters", limit="format")
        size = struct.calcsize(pattern)
        guard.operators.length(size, "text")
        return pattern, size

    def calcsize(pattern: Any, /) -> int:
        return sized(pattern)[1]

    def pack(pattern: Any, /, *values: Any) -> bytes:
        return struct.pack(sized(pattern)[0], *values)

    def pack_into(pattern: Any, buffer: Any, offset: Any, /, *values: Any) -> None:
        if type(buffer) is not bytearray:
            raise TypeError(f"pack_into() takes a bytearray here, not {type(buffer).__name__}")
        struct.pack_into(sized(pattern)[0], buffer, operator.index(offset), *values)

    def unpack(pattern: Any, buffer: Any, /) -> tuple[Any, ...]:
        return struct.unpack(sized(pattern)[0], _bytes(buffer))

    def unpack_from(pattern: Any, /, buffer: Any, offset: Any = 0) -> tuple[Any, ...]:
        return struct.unpack_from(sized(pattern)[0], _bytes(buffer), operator.index(offset))

    def iter_unpack(pattern: Any, buffer: Any, /) -> Iterator[tuple[Any, ...]]:
        return guard.builtins.ticked(struct.iter_unpack(sized(pattern)[0], _bytes(buffer)))

    functions = {
        each.__name__: raising(each) for each in (pack, pack_into, unpack, unpack_from, iter_unpack, calcsize)
    }

    def make(format: Any) -> Struct:  # noqa: A002 - Python's own name of the parameter
        pattern, size = raising(sized)(format)
        return Struct(pattern, size, functions)

    guard.allowed[Struct] = frozenset(_METHODS)
    made: dict[str, object] = {name: seal(each) for name, each in functions.items()}
    return made | {"Struct": guard.builtins.add_facade(make, Struct), "error": StructError}


def _bytes(buffer: Any) -> bytes | bytearray:
    if type(buffer) is bytes or type(buffer) is bytearray:
        return buffer
    raise TypeError(f"a bytes-like object is required, not {type(buffer).__name__}: pass bytes(…)")


may_call_scripts(globals())
