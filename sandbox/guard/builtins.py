# SPDX-License-Identifier: GPL-3.0-or-later
"""The builtins of a script, listed one by one; those that could run long or grow big are guarded."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ..facts.reasons import why_builtin
from ..language.names import attribute_problem, is_dunder, name_problem
from .classes import EXCEPTIONS
from .ending import EXIT, ScriptExit
from .facade import Facade, expose, hide, seal
from .iteration import Iteration
from .members.methods import encoding as encoding_name
from .reentry import may_call_scripts
from .seam import Guard
from .values import deep_nesting

__all__ = ("Builtins", "StandIn", "kind_of", "stand_in")

_PLAIN: Final = (
    *(
        all,
        any,
        ascii,
        bin,
        bool,
        callable,
        chr,
        deep_nesting.classmethod,
        complex,
        float,
        hex,
        id,
        len,
    ),
    *(list, object, oct, ord, deep_nesting.property, deep_nesting.staticmethod, tuple, next, super),
)
"""Builtins without a guard: their results are no bigger than their arguments, and iterators tick."""

_CONSTANTS: Final[dict[str, object]] = {
    "None": None,
    "True": True,
    "False": False,
    "Ellipsis": Ellipsis,
    "NotImplemented": NotImplemented,
    "__debug__": True,
}
_SAME_IN_ALL_RUNS: Final[dict[str, object]] = {
    **{each.__name__: each for each in (*_PLAIN, *EXCEPTIONS)},
    **_CONSTANTS,
    "SystemExit": ScriptExit,
    "exit": EXIT,
    "quit": EXIT,
    "IOError": OSError,
    "UnicodeDecodeError": UnicodeError,
    "UnicodeEncodeError": UnicodeError,
    "EnvironmentError": OSError,
}
_RANGE_END: Final = 1 << 62
_NOTHING: Final = object()
Function = Callable[..., Any]


class StandIn(Facade):
    """Represents a type that a script may compare and name but not call."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        _set_kind(self, kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and kind_of(other) is kind_of(self)

    def __hash__(self) -> int:
        return hash(kind_of(self))

    def __repr__(self) -> str:
        return f"<class {kind_of(self).__name__!r}>"


kind_of, _set_kind = hide(StandIn, "kind")
"""`kind_of(stand_in(kind))` is `kind`."""


@functools.cache
def stand_in(kind: type) -> StandIn:
    """Return the one stand-in of a class, so that `type(a) is type(b)` holds."""
    return StandIn(kind)


_FUNCTIONS: Final = (types.MethodType, types.MethodWrapperType)
"""Types of the facades of types that a script may call, such as `int`."""


class Builtins(Iteration):
    """The guarded builtins of one run."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.facades: dict[Any, type] = {
            self.int: int,
            self.str: str,
            self.bytes: bytes,
            self.bytearray: bytearray,
            self.range: range,
            self.type: type,
            self.slice: slice,
            **{seal(guard.hashing.function(kind)): kind for kind in (dict, frozenset, set)},
        }
        self._known_kinds: dict[Any, Any] = {}
        self._by_type = {kind: facade for facade, kind in self.facades.items()}

    def table(self) -> dict[str, object]:
        """Return the builtins by name: the script's `__builtins__`."""
        guard = self._guard
        table = _SAME_IN_ALL_RUNS.copy()
        table |= {kind.__name__: facade for facade, kind in self.facades.items() if kind in _BUILTIN_TYPES}
        guarded = (
            *(
                self.abs,
                self.delattr,
                self.dir,
                self.divmod,
                self.enumerate,
                self.filter,
                self.getattr,
                self.globals,
                self.hasattr,
                self.hash,
            ),
            *(
                self.isinstance,
                self.issubclass,
                self.iter,
                self.map,
                self.max,
                self.min,
                self.pow,
                self.reversed,
            ),
            *(self.open, self.round, self.setattr, self.sorted, self.sum, self.vars, self.zip),
        )
        table |= {function.__name__: function for function in guarded}
        table |= {"print": guard.text.print, "repr": guard.text.repr, "format": guard.text.format_value}
        table["ascii"] = seal(lambda value: ascii(guard.text.repr(value))[1:-1])
        # C code that imports a module looks in the builtins of the frame that called it
        table["__import__"] = seal(_import_for_c)
        table["__build_class__"] = __build_class__
        return table

    # Types as functions: isinstance, == and class statements take these facades of `int`, `str`, … for the types

    def real(self, kind: Any) -> Any:
        """Return the type behind its facade; anything else is returned as it is."""
        if type(kind) in _FUNCTIONS or isinstance(kind, Facade):
            return kind_of(kind) if type(kind) is StandIn else self.facades.get(kind, kind)
        return kind

    def add_facade(self, function: Function, kind: type) -> Function:
        """Use a function as the facade of a type; return the value that the script may hold."""
        sealed: Function = expose(function)
        self.facades[sealed] = kind
        self._by_type[kind] = sealed
        return sealed

    def facade(self, kind: type) -> Any:
        """Return the facade of a type, or the type itself."""
        return self._by_type.get(kind, kind)

    def int(self, value: Any = 0, base: Any = _NOTHING) -> int:
        """Return `int(value, base)` of bounded length."""
        if base is not _NOTHING:
            self._guard.operators.bits(6 * len(value) if isinstance(value, _TEXTS) else 0)
            return int(value, base)
        return int(value)

    def str(self, value: Any = "", *encoding: Any, **named: Any) -> str:
        """Return `str(value)` of bounded length."""
        if encoding or named:
            name = encoding_name(self._guard, encoding[0] if encoding else named.get("encoding", "utf-8"))
            return str(value, name, *encoding[1:])
        return value if type(value) is str else self._guard.text.show(value)

    def bytes(self, value: Any = b"", *encoding: Any) -> bytes:
        """Return `bytes(value)` of bounded length."""
        return bytes(
            self._check_size(value),
            *(encoding_name(self._guard, each) for each in encoding[:1]),
            *encoding[1:],
        )

    def bytearray(self, value: Any = b"", *encoding: Any) -> bytearray:
        """Return `bytearray(value)` of bounded length."""
        return bytearray(
            self._check_size(value),
            *(encoding_name(self._guard, each) for each in encoding[:1]),
            *encoding[1:],
        )

    def _check_size(self, value: Any) -> Any:
        if hasattr(type(value), "__index__"):
            value = operator.index(value)
            self._guard.operators.length(value)
        return value

    def range(self, start: Any, stop: Any = _NOTHING, step: Any = 1) -> range:
        """Return `range(…)` of bounded length."""
        if stop is _NOTHING:
            start, stop = 0, start
        if not (type(start) is type(stop) is type(step) is int):
            start, stop, step = (int(operator.index(part)) for part in (start, stop, step))
        if not (
            -_RANGE_END < start < _RANGE_END
            and -_RANGE_END < stop < _RANGE_END
            and -_RANGE_END < step < _RANGE_END
        ):
            self._guard.meter.exceed("a range beyond 2**62 is over the limit", limit="sequence")
        result = range(start, stop, step)
        if len(result) > self._guard.meter.limits.sequence:
            self._guard.operators.length(len(result), "range")
        return result

    def slice(self, *bounds: Any) -> slice:
        """Return `slice(…)` of plain bounds: slices of slices of slices crash when Python frees them."""
        if not all(bound is None or hasattr(type(bound), "__index__") for bound in bounds):
            raise TypeError("slice indices must be integers or None")
        return slice(*bounds)

    def type(self, value: Any, *more: Any) -> Any:
        """Return `type(value)` as the script may hold it."""
        if more:
            self._guard.meter.refuse("type() with three arguments makes a class: write a class statement")
        return self._guard.type_of(value)

    # Attributes

    def getattr(self, value: Any, name: Any, default: Any = _NOTHING) -> Any:
        """Return `getattr(value, name[, default])`; a refused name stops the run, even with a default."""
        try:
            return self._guard.get_named(value, name)
        except AttributeError:
            if default is _NOTHING:
                raise
            return default

    def hasattr(self, value: Any, name: Any) -> bool:
        """Return `hasattr(value, name)`; False also for what the script may not use."""
        if not self._guard.has_reachable(value, name):
            return False
        try:
            self._guard.get_named(value, name)
        except AttributeError:
            return False
        return True

    def setattr(self, value: Any, name: Any, new: Any) -> None:
        """Set an attribute by `setattr(value, name, new)`, checked."""
        self._guard.set_named(value, name, new)

    def delattr(self, value: Any, name: Any) -> None:
        """Delete an attribute by `delattr(value, name)`, checked."""
        self._guard.delete_named(value, name)

    def open(self, *_arguments: Any, **_named: Any) -> NoReturn:
        """Refuse `open(…)`: scripts have no files."""
        self._guard.meter.refuse(f"open() is not available to scripts: {why_builtin('open')}")

    def dir(self, *values: Any) -> list[str]:
        """Return the public names of `dir(value)`."""
        if not values:
            return sorted(name for name in self.globals() if not name.startswith("_"))
        return [name for name in dir(self.real(values[0])) if not name.startswith(("_", "<"))]

    def globals(self) -> dict[Any, Any]:
        """Return a copy of the script's variables by name."""
        return {
            name: value
            for name, value in self._guard.namespace.items()
            if name.isidentifier() and not is_dunder(name) and not name_problem(name)
        }

    def vars(self, *values: Any) -> dict[str, Any]:
        """Return `vars(value)` of an instance of a class of the script's own: a copy of its attributes."""
        if len(values) != 1:
            self._guard.meter.refuse(
                "vars() takes one value: use the script's variables by name", code="name"
            )
        value = values[0]
        held = getattr(value, "__dict__", None) if type(value) in self._guard.own else None
        if held is None:
            raise TypeError(
                "vars() takes an instance of a class of the script's own: use dir() and getattr()"
            )
        shown = [name for name in held if name.isidentifier() and not attribute_problem(name)]
        return {name: self.getattr(value, name) for name in shown}

    def set_all(self, value: Any, *tables: Any, **named: Any) -> None:
        """Set the attributes that `value.__dict__.update(table, name=new)` sets, one by one, each checked."""
        if len(tables) > 1:
            raise TypeError(f"update expected at most 1 argument, got {len(tables)}")
        for table in (*tables, named):
            if type(table) is not dict:
                raise TypeError("an object's attributes are updated from a dict: use setattr() for each")
            for name, new in [*table.items()]:
                self._guard.set_named(value, name, new)

    def isinstance(self, value: Any, kinds: Any) -> bool:
        """Return `isinstance(value, kinds)`, where kinds may be the script's facades of `int`, `str`, …."""
        value = self.real(value)
        if type(kinds) is tuple:
            self._guard.hashing.key(kinds)
        try:
            return isinstance(value, self._known_kinds[kinds])
        except KeyError:
            known = self._known_kinds[kinds] = self._kinds(kinds)
            return isinstance(value, known)

    def issubclass(self, kind: Any, kinds: Any) -> bool:
        """Return `issubclass(kind, kinds)`, where both may be facades."""
        return issubclass(self.real(kind), self._kinds(self._guard.hashing.key(kinds)))

    def _kinds(self, kinds: Any) -> Any:
        if type(kinds) is tuple:
            return tuple(self._kinds(kind) for kind in kinds)
        return self.real(kinds)

    def hash(self, value: Any) -> int:
        """Return `hash(value)` after a check of how much is hashed."""
        self._guard.operators.weight(value)
        return hash(value)

    # Numbers

    def pow(self, base: Any, exponent: Any, modulus: Any = None) -> Any:
        """Return `pow(base, exponent[, modulus])`, checked."""
        return self._guard.operators.power(base, exponent, modulus)

    def abs(self, value: Any) -> Any:
        """Return `abs(value)`, checked."""
        kind = type(value)
        return abs(value) if kind is float or kind is int else self._guard.operators.of_any("abs", abs, value)

    def divmod(self, left: Any, right: Any) -> Any:
        """Return `divmod(left, right)`, checked."""
        if isinstance(left, str):
            self._guard.operators.modulo(left, right)
        return self._guard.operators.of_any("divmod", divmod, left, right)

    def round(self, number: Any, digits: Any = None) -> Any:
        """Return `round(number[, digits])`, checked."""
        if digits is None:
            return self._guard.operators.of_any("round", round, number)
        digits = operator.index(digits)
        if not -1000 < digits < 1000:
            self._guard.meter.exceed("round() to more than 1,000 digits is over the limit", limit="integer")
        return self._guard.operators.of_any("round", round, number, digits)


_BUILTIN_TYPES: Final = frozenset({int, str, bytes, bytearray, range, type, slice, dict, frozenset, set})
_TEXTS: Final = (str, bytes, bytearray)


def _import_for_c(name: str, *_rest: object) -> None:
    """Allow C code to import by name only what has been imported already; scripts cannot name this function."""
    import sys

    if name not in sys.modules:
        raise ImportError(f"{name} is not loaded")


may_call_scripts(globals())
