# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses numpy's arrays that are too large before numpy allocates them, through numpy's own allocation handler.

numpy asks a handler for the memory of each array (NEP 49, numpy 1.22 and newer). In the calls of numpy that the guards
make for a script (`ArrayMemory.watched`), the handler is one that looks at large sizes and gives no memory above the
run's limit; numpy then raises MemoryError, and the run is over. What is freed goes straight to numpy's own handler: an
array that outlives the run is freed without any Python.

Our functions must return whatever happens: ctypes gives C code a random address for a function that raised, or that
could not be called at the limit of recursion. So `watched` first makes sure of the room (`guard.values.room`). Wherever
else C code comes upon numpy (a sort of arrays), numpy has its own handler, and the watchdog alone sees the memory. No
exception may come from outside while our functions run: the stop of a run that is over a limit does not interrupt them
(`run.watchdog`); they give such a run no more large arrays.

Memory is resized without any Python, as a lost address would be freed twice. Hence a script reaches no function that
makes an array grow while it is filled: `fromiter` gets a list, and `resize` is refused.

The addresses come from numpy's table of functions, whose order is part of numpy's binary interface
(`numpy/__multiarray_api.h`): `PyDataMem_SetHandler` is entry 304, `PyDataMem_GetHandler` entry 305.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ...base.errors import LimitExceeded
from ...base.process.resident_memory import usage
from ..guard.audit import module_may_raise
from ..guard.values.room import room_for_calls

if TYPE_CHECKING:
    from ..guard.meter import Meter

__all__ = ("ArrayMemory", "Unsupported")

LOOKED_AT: Final = 1 << 20
"""The bytes of an array from which this module checks the memory of the process."""
DEFAULT_LIMIT: Final = 1 << 30
"""The most bytes of a run's arrays if nothing else limits its memory."""
LARGEST: Final = 1 << 29
"""The bytes of the largest array: a picture of 4,096 x 4,096 pixels, four channels of 64 bits each."""
UNUSED: Final = 4
"""How many times the limit may be committed: memory that was never written takes no room yet."""
_SET_HANDLER, _GET_HANDLER = 304, 305
_CAPSULE: Final = b"mem_handler"
_VERSION: Final = 1

_Malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_Calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler` of numpy/ndarraytypes.h."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class Unsupported(Exception):
    """Tells that this numpy has no allocation handler that can be replaced."""


class ArrayMemory(AbstractContextManager["ArrayMemory"]):
    """Limits the memory of arrays that `watched` makes inside this context.

    Raises:
        Unsupported: this numpy has no allocation handler that can be replaced.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._limit = meter.limits.memory_bytes or DEFAULT_LIMIT
        self._table = _table()
        self._used = usage()
        self._room = 0
        """Bytes of arrays until the next check of the memory; the watchdog checks other memory by the clock."""
        self._context = contextvars.copy_context()
        """Has our handler: numpy keeps it in a variable of the context."""
        self._context.run(self._table.set_handler, self._table.ours)

    def __enter__(self) -> ArrayMemory:
        self._used = usage()
        self._table.run = self
        return self

    def __exit__(self, *_exc: object) -> None:
        self._table.run = None

    def watched(self, levels: int, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return `function(…)`, and limit the memory of each array that numpy makes in it, so many calls deep.

        Raises RecursionError if there is no room for these calls.
        """
        room_for_calls(levels)
        return self._context.copy().run(function, *arguments, **named)

    def admits(self, size: int) -> bool:
        """Return whether an array may have `size` more bytes; trip the run if it may not."""
        if size <= LOOKED_AT:  # numpy goes on with an error set where it gets no memory for a number
            return True
        if self._meter.error is not None:
            return False
        if size <= self._room and size <= LARGEST:
            self._room -= size
            return True
        now, limit = usage(), self._limit
        resident = now.resident - self._used.resident + size
        committed = now.committed - self._used.committed + size
        if size > LARGEST:
            over = f"a numpy array of {size / 2**20:,.0f} MiB is over the limit of {LARGEST >> 20:,} MiB"
        elif resident > limit or committed > UNUSED * limit:
            over = f"with a numpy array of {size >> 20:,} MiB the run would use more than {limit >> 20:,} MiB of memory"
        else:
            self._room = min(limit - resident, UNUSED * limit - committed) // 2
            return True
        self._meter.trip(LimitExceeded(over, limit="memory"))
        return False


class _Table:
    """numpy's functions for its handler, and our handler, which lives as long as the process."""

    def __init__(self, functions: Any) -> None:
        self.run: ArrayMemory | None = None
        self.set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])
        get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[_GET_HANDLER])
        self._default = get_handler()  # our handler calls this one's functions
        default = _Handler.from_address(_pointer(self._default, _CAPSULE))
        if default.version != _VERSION:
            raise Unsupported(f"its handlers are of version {default.version}")
        self._callbacks = self._functions(default)
        addresses = (ctypes.cast(each, ctypes.c_void_p).value for each in self._callbacks)
        self._handler = _Handler(
            b"mcp_bridge", _VERSION, default.context, *addresses, default.realloc, default.free
        )
        self.ours = _new_capsule(ctypes.addressof(self._handler), _CAPSULE, None)

    def _functions(self, default: _Handler) -> tuple[Any, ...]:
        malloc, calloc = _Malloc(default.malloc), _Calloc(default.calloc)

        def sized_malloc(context: int | None, size: int) -> int | None:
            try:
                if self.run is not None and not self.run.admits(size):
                    return None
                return malloc(context, size)  # type: ignore[no-any-return]
            except Exception:  # no memory without a check: numpy then raises MemoryError
                return None

        def sized_calloc(context: int | None, count: int, size: int) -> int | None:
            try:
                if self.run is not None and not self.run.admits(count * size):
                    return None
                return calloc(context, count, size)  # type: ignore[no-any-return]
            except Exception:
                return None

        return _Malloc(sized_malloc), _Calloc(sized_calloc)


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


@cache
def _table() -> _Table:
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        module: Any = sys.modules.get(name)
        if hasattr(module, "get_handler_name"):
            break
    else:
        raise Unsupported("it is older than 1.22")
    return _Table(ctypes.cast(_pointer(module._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)))


module_may_raise(globals(), "ctypes.call_function")
