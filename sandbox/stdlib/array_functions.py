# SPDX-License-Identifier: GPL-3.0-or-later
"""Special forms of numpy's functions that call back, take types, or return no arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

from ..guard.facade import Facade, hide, seal
from .array_arguments import GuardedArrays, unsupported

__all__ = ("special_members",)


class _Grid(Facade):
    """The script's view of `numpy.mgrid` or `numpy.ogrid`."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[Any, Any], Any], grid: Any) -> None:
        _set_read(self, lambda key: read(grid, key))

    def __getitem__(self, key: Any) -> Any:
        return _read(self)(key)


_read, _set_read = hide(_Grid, "read")


class _ErrorState(Facade):
    """The script's view of `numpy.errstate(…)`, which changes nothing: numpy prints no warnings for scripts."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass


class _Facts(Facade):
    """The script's view of the result of `numpy.finfo(type)` or `numpy.iinfo(type)`."""

    __slots__ = ("facts",)

    def __init__(self, info: Any, names: str) -> None:
        _set_facts(self, {name: getattr(info, name) for name in names.split()})

    def __getattr__(self, name: str) -> Any:
        try:
            return _facts(self)[name]
        except KeyError:
            raise AttributeError(f"no attribute {name!r}") from None


_facts, _set_facts = hide(_Facts, "facts")


def _ignore(*_arguments: Any, **_options: Any) -> None:
    """Do nothing: a script may not change how numpy prints numbers and warnings."""


_ONLY_TYPE: Final = frozenset({"dtype"})
_MOST_TURNS: Final = 10
"""How often a function of numpy may call itself: there is room for that on the stack before each call."""


def _calling_itself(arrays: GuardedArrays, name: str) -> Callable[..., Any]:
    """Return `polyder(p, m)` or `polyint(p, m)`, in which numpy calls itself `m` times."""
    wrapped = arrays.wrapped(getattr(arrays.np, name))

    def call(p: Any, m: Any = 1, *rest: Any, **named: Any) -> Any:
        m = operator.index(m)
        if m > _MOST_TURNS:
            raise ValueError(
                f"{name}(): m is at most {_MOST_TURNS} for scripts, not {m}: call it several times"
            )
        return wrapped(p, m, *rest, **named)

    call.__name__ = call.__qualname__ = name
    return call


def special_members(arrays: GuardedArrays) -> dict[str, object]:
    """Return the special forms of numpy's functions that call back, take types, or return no arrays."""
    np, builtins = arrays.np, arrays.guard.builtins

    def pad(value: Any, width: Any, mode: Any = "constant", **named: Any) -> Any:
        if type(mode) is not str:
            raise TypeError("pad() takes the name of a mode")
        return wrapped_pad(value, width, mode, **named)

    def vectorize(function: Any) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            values = tuple(map(arrays.outward, np.broadcast_arrays(*map(arrays.inward, values))))
            made = [function(*part) for part in zip(*map(list, values), strict=True)]
            return wrapped_array(made)

        return seal(call)

    def fromiter(items: Any, dtype: Any, count: Any = -1) -> Any:
        count = operator.index(count)
        drawn = builtins.ticked(iter(items))
        values = list(drawn if count < 0 else itertools.islice(drawn, count))
        return wrapped_fromiter(values, dtype, len(values) if count < 0 else count)

    def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **named: Any) -> Any:
        places = arrays.wrapped(np.indices)(shape, dtype=dtype)
        return function(*places, **named)

    def frombuffer(buffer: Any, dtype: Any = float, count: Any = -1, offset: Any = 0) -> Any:
        if type(buffer) is not bytes:
            raise TypeError(f"frombuffer() takes bytes here, not {type(buffer).__name__}")
        return arrays.outward(np.frombuffer(buffer, arrays.inward(dtype), count, offset).copy())

    def ndarray(*_arguments: Any) -> Any:
        raise TypeError("make arrays by np.array(), np.zeros(), …")

    def dtype(kind: Any) -> Any:
        made = np.dtype(arrays.inward(kind))
        if unsupported(made):
            arrays.refuse_type()
        return made

    real, numbers = builtins.real, {float, int, np.float32, np.float64}

    def array(*values: Any, **named: Any) -> Any:
        # of a vector of Blender's, numpy makes a copy at once; checked as any other argument, it would be copied twice
        if len(values) == 1 and arrays.lends(values[0]) and named.keys() <= _ONLY_TYPE:
            kind = real(named.get("dtype"))
            if kind is None or (isinstance(kind, type) and kind in numbers):
                arrays.guard.meter.tick()
                return np.array(values[0], kind)
        return wrapped_array(*values, **named)

    wrapped_pad, wrapped_fromiter, wrapped_array = map(arrays.wrapped, (np.pad, np.fromiter, np.array))
    functions = (array, pad, vectorize, fromiter, fromfunction, frombuffer)
    members: dict[str, object] = {function.__name__: function for function in functions}
    members["ndarray"] = builtins.add_facade(ndarray, np.ndarray)
    members["dtype"] = builtins.add_facade(dtype, np.dtype)
    members |= {name: _calling_itself(arrays, name) for name in ("polyder", "polyint")}
    return members | {
        "mgrid": _Grid(arrays.item_of_grid, np.mgrid),
        "ogrid": _Grid(arrays.item_of_grid, np.ogrid),
        "c_": _Grid(arrays.item_of_grid, np.c_),
        "r_": _Grid(arrays.item_of_grid, np.r_),
        "errstate": lambda **_options: _ErrorState(),
        "finfo": lambda kind: _Facts(
            np.finfo(arrays.inward(kind)), "bits dtype eps epsneg max min resolution tiny"
        ),
        "iinfo": lambda kind: _Facts(np.iinfo(arrays.inward(kind)), "bits dtype max min"),
        "seterr": _ignore,
        "set_printoptions": _ignore,
    }
