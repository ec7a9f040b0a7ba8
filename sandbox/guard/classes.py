# SPDX-License-Identifier: GPL-3.0-or-later
"""Classes that a script makes: which bases and bodies they may have."""

from __future__ import annotations

import abc
import builtins
import enum
import functools
import types
from collections.abc import Callable
from typing import Any, Final

from ..facts.reasons import why_class
from ..language import hooks, names
from .facade import Facade, hide
from .meter import ScriptStopped
from .reentry import refuse_if_blender_calls
from .seam import Guard
from .values import deep_nesting
from .values.weight import TooHeavy, weigh

__all__ = ("EXCEPTIONS", "Auto", "ClassHook", "Marker", "reads_memory")

EXCEPTIONS: Final[tuple[Any, ...]] = tuple(
    getattr(builtins, name)
    for name in """
    Exception ArithmeticError AssertionError AttributeError BufferError EOFError ImportError IndexError
    FloatingPointError KeyError LookupError MemoryError ModuleNotFoundError NameError NotImplementedError OSError
    FileNotFoundError PermissionError TimeoutError OverflowError RecursionError ReferenceError RuntimeError
    StopIteration SyntaxError SystemError TypeError UnboundLocalError UnicodeError ValueError ZeroDivisionError
    Warning DeprecationWarning FutureWarning RuntimeWarning UserWarning
    """.split()
)
"""Exceptions that scripts may name, raise, catch and derive from.

Not among them: those that `reads_memory` knows. Scripts have UnicodeError by their names.
"""


def reads_memory(kind: type) -> bool:
    """Return whether the text of an exception of this class is read at places that whoever makes it chooses.

    Python's own code does not check `start` and `end` of a UnicodeDecodeError: it reads any memory of the process.
    """
    return issubclass(kind, UnicodeError) and kind is not UnicodeError


class Auto(Facade):
    """The value of a script's `enum.auto()`: the body of an Enum replaces it by Python's own, which can be changed."""

    __slots__ = ()


class _EnumBody(type(enum.EnumType.__prepare__("body", ()))):  # type: ignore[misc]
    """The body of an Enum while its class statement runs."""

    def __setitem__(self, name: str, value: Any) -> None:
        if type(value) is tuple:
            value = tuple(enum.auto() if type(part) is Auto else part for part in value)
        super().__setitem__(name, enum.auto() if type(value) is Auto else value)


class _EnumType(enum.EnumType):
    """Enums whose call only looks up a member: a call of Python's Enum without members makes a class of any names."""

    @classmethod
    def __prepare__(cls, name: str, bases: Any, **options: Any) -> Any:  # type: ignore[override]
        made = super().__prepare__(name, bases, **options)
        body: Any = _EnumBody.__new__(_EnumBody)
        vars(body).update(vars(made))
        dict.update(body, made)
        return body

    def __setattr__(cls, name: str, value: Any) -> None:
        if cls in _BASE_ENUMS:
            raise TypeError(f"cannot set {name!r} attribute of immutable type {cls.__name__!r}")
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if cls in _BASE_ENUMS:
            raise TypeError(f"cannot delete {name!r} attribute of immutable type {cls.__name__!r}")
        super().__delattr__(name)

    def __call__(cls, value: Any, *more: Any, **named: Any) -> Any:
        if more or named:
            raise TypeError(f"{cls.__name__}() takes one value: write a class statement to make an Enum")
        try:
            weigh(value, _HEAVIEST)
        except TooHeavy:
            raise ValueError(f"{cls.__name__}() takes a smaller value") from None
        return super().__call__(value)


def _make_enum(base: Any) -> Any:
    body = _EnumType.__prepare__(base.__name__, (base,))
    body["__module__"] = "enum"
    return _EnumType(base.__name__, (base,), body)


_HEAVIEST: Final = 100_000
_BASE_ENUMS: set[type] = set()
ENUMS: Final = tuple(map(_make_enum, (enum.Enum, enum.IntEnum, enum.Flag, enum.IntFlag, enum.StrEnum)))
"""Enum, IntEnum, … as scripts may derive from them."""
_BASE_ENUMS.update(ENUMS)  # from here on nothing can set their attributes
_BASES: Final = frozenset({object, list, dict, set, abc.ABC, *EXCEPTIONS, *ENUMS})
_TABLES: Final = frozenset({set, dict})
_MIXINS: Final = frozenset({str, int, float})
"""Types that a script's Enum may also derive from; it keeps their own methods."""
_NAMES_OF_PYTHON: Final = frozenset(
    {"__module__", "__qualname__", "__doc__", "__annotations__", "__classcell__", "__firstlineno__"}
    | {
        "__static_attributes__",
        "__annotate__",
        "__annotate_func__",
        "__conditional_annotations__",
        "__classdictcell__",
    }
)
"""Names that Python itself puts into a class body."""


_OVER_MIXINS: Final = _NAMES_OF_PYTHON | {"__init__", "__str__", "__repr__"}
"""Names that a class derived from str or int may define although str and int have them."""


class Marker(Facade):
    """A base that only informs readers (`typing.Generic`, `Protocol`), and the result of its subscripts."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        _set_name(self, name)

    def __getitem__(self, _key: object) -> Marker:
        return self

    def __call__(self, *args: Any) -> Any:
        """Return the last argument: used as a decorator, a marker changes nothing."""
        return args[-1] if args else self

    def __or__(self, _other: object) -> Marker:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"typing.{name_of(self)}"


name_of, _set_name = hide(Marker, "name")


class ClassHook:
    """The metaclass hook of one run: Python calls it as `hook(name, bases, body)`."""

    def __init__(self, guard: Guard, real: Callable[[Any], Any]) -> None:
        self._guard = guard
        self._real = real

    def __prepare__(self, name: str, bases: tuple[Any, ...]) -> Any:
        kinds = self._bases(name, bases)[0]
        if any(issubclass(kind, enum.Enum) for kind in kinds):
            return _EnumType.__prepare__(name, kinds)
        return {}

    def __call__(self, name: str, bases: tuple[Any, ...], body: Any) -> type:
        """Make the class of a class statement. Raises PolicyError."""
        kinds, is_tuple = self._bases(name, bases)
        for key in [key for key in body if key.startswith("<")]:
            del body[key]
        self._check_body(name, kinds, body)
        for key in ("__getitem__", "__setitem__", "__delitem__"):
            _check_slices(body, key)
        refuse_if_blender_calls(name, body, self._guard.namespace, self._guard.meter)
        if is_tuple:
            return self._guard.adopt(_named_tuple(name, body, self._guard))
        _hide_stops(body)
        if any(issubclass(kind, enum.Enum) for kind in kinds):
            self._check_values(name, body)
        if any(issubclass(kind, BaseException) for kind in kinds):
            _answer_afterwards(body, self._guard)
        metaclass = type
        for kind in kinds:
            if issubclass(type(kind), metaclass):
                metaclass = type(kind)
        made = self._guard.adopt(metaclass(name, kinds, body))
        if isinstance(made, enum.EnumType):
            _answer_members(made, self._guard.own)
        return made

    def _bases(self, name: str, bases: tuple[Any, ...]) -> tuple[tuple[type, ...], bool]:
        """Return the real bases, and whether `NamedTuple` is one of them."""
        kinds = [self._host_base(self._real(base)) for base in bases if not isinstance(base, Marker)]
        is_tuple = any(isinstance(base, Marker) and name_of(base) == "NamedTuple" for base in bases)
        if any(isinstance(base, Marker) and name_of(base) == "TypedDict" for base in bases):
            kinds.append(dict)
        is_enum = any(isinstance(kind, type) and issubclass(kind, enum.Enum) for kind in kinds)
        for kind in kinds:
            if isinstance(kind, type) and (
                kind in _BASES or kind in self._guard.own or (is_enum and kind in _MIXINS)
            ):
                continue
            what = getattr(kind, "__name__", type(kind).__name__)
            self._guard.meter.refuse(
                f"class {name} cannot derive from {what}: {self._instead(kind)}", code="class"
            )
        return tuple(self._guard.hashing.base(kind) if kind in _TABLES else kind for kind in kinds), is_tuple

    def _host_base(self, kind: Any) -> Any:
        """Return the base that a script's class gets instead of a class of the host's; anything else as it is."""
        host = self._guard.host
        base = host.class_base(kind) if host is not None and isinstance(kind, type) else None
        return kind if base is None else self._guard.adopt(base)

    def _instead(self, kind: object) -> str:
        if kind in (str, int, float, bytes, tuple, bool):
            return why_class("value")
        return why_class("registered" if self._guard.is_hosts(kind) else "plain")

    def _check_body(self, name: str, kinds: tuple[type, ...], body: Any) -> None:
        mixin = next((base for kind in kinds for base in kind.__mro__ if base in _MIXINS), None)
        inherited = [
            key for kind in kinds for base in kind.__mro__ if base in self._guard.own for key in vars(base)
        ]
        for key in (*body, *(inherited if mixin is not None else ())):
            unknown = (
                names.is_dunder(key)
                and key not in names.CLASS_DUNDERS | names.CLASS_VARIABLES | _NAMES_OF_PYTHON
            )
            if (unknown and key in body) or (
                mixin is not None and hasattr(mixin, key) and key not in _OVER_MIXINS
            ):
                self._guard.meter.refuse(f"class {name} may not define {key!r}", code="class")
        if "__iter__" in body and any(issubclass(kind, set) for kind in kinds):
            self._guard.meter.refuse(  # Blender takes sets as they are, and crashes if iterating over one fails
                f"class {name} may not define '__iter__': keep the set in an attribute", code="class"
            )
        self._fix_slots(name, body)

    def _check_values(self, name: str, body: Any) -> None:
        """Check the values of an Enum's members: Python hashes, compares and perhaps decodes them."""
        for member in body._member_names:
            try:
                weigh(body[member], _HEAVIEST)
            except TooHeavy:
                self._guard.meter.exceed(f"the value of {name}.{member} is too large", limit="sequence")

    def _fix_slots(self, name: str, body: Any) -> None:
        """Replace `__slots__` by the names that were checked: Python reads them again."""
        slots = body.get("__slots__")
        if slots is None:
            return
        listed = (slots,) if isinstance(slots, str) else tuple(slots)
        for slot in listed:
            if type(slot) is not str or names.is_dunder(slot) or slot.startswith("<"):
                shown = repr(slot) if type(slot) is str else f"of the type {type(slot).__name__}"
                self._guard.meter.refuse(f"class {name} may not have a slot {shown}", code="class")
        body["__slots__"] = listed


def _hide_stops(body: Any) -> None:
    """Hide tracebacks and the stop of a run from `__exit__`, which cannot swallow the stop."""
    leave = body.get("__exit__")
    if not isinstance(leave, types.FunctionType):
        return

    def __exit__(self: Any, kind: Any, value: Any, _traceback: Any) -> Any:  # noqa: N807
        if isinstance(value, BaseException) and not isinstance(value, Exception):
            return False
        return leave(self, kind, value, None)

    body["__exit__"] = __exit__


def _answer_members(kind: type, own: set[type]) -> None:
    """Let `_missing_` return members only: Python shows any other result, however much it unfolds to."""
    owner = next(base for base in kind.__mro__ if "_missing_" in vars(base))
    if owner not in own:
        return
    look = vars(owner)["_missing_"]

    def _missing_(cls: type, value: Any) -> Any:
        found = look.__get__(None, cls)(value)
        if found is not None and not isinstance(found, cls):
            raise TypeError(f"{cls.__name__}._missing_ gave a {type(found).__name__}, not a member")
        return found

    type.__setattr__(kind, "_missing_", deep_nesting.classmethod(_missing_))


def _check_slices(body: Any, key: str) -> None:
    """Let the script's own item methods accept only slices of plain bounds (see `builtins.slice`)."""
    method = body.get(key)
    if not isinstance(method, types.FunctionType):
        return

    @functools.wraps(method)
    def item(self: Any, index: Any, *new: Any) -> Any:
        if type(index) is slice and not all(
            part is None or hasattr(type(part), "__index__") for part in (index.start, index.stop, index.step)
        ):
            raise TypeError("slice indices must be integers or None")
        return method(self, index, *new)

    body[key] = item


def _answer_afterwards(body: Any, guard: Guard) -> None:
    """Let an exception of the script's show its arguments after the run, when its own methods no longer work."""
    for key in ("__str__", "__repr__"):
        method = body.get(key)
        if isinstance(method, types.FunctionType):
            body[key] = _answering(method, guard)


def _answering(method: Callable[[Any], str], guard: Guard) -> Callable[[Any], str]:
    @functools.wraps(method)
    def answer(self: Any) -> str:
        try:
            if guard.namespace[hooks.RUNNING]:
                return method(self)
        except ScriptStopped:
            if guard.namespace[hooks.RUNNING]:
                raise
        return ", ".join(str(part)[:200] for part in self.args if isinstance(part, str | int | float))

    return answer


def _named_tuple(name: str, body: dict[str, Any], guard: Guard) -> type:
    """Make the class of `class P(NamedTuple)`: annotated names are fields, values their defaults, functions methods."""
    fields = list(type("fields", (), dict(body)).__annotations__)
    defaults = [body[field] for field in fields if field in body]
    base = deep_nesting.namedtuple(name, fields, defaults=defaults)
    guard.adopt(base)
    kept = {key: value for key, value in body.items() if key not in fields and key not in _NAMES_OF_PYTHON}
    return type(name, (base,), kept | {"__slots__": (), "__module__": body["__module__"]})
