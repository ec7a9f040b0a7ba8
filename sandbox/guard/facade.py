# SPDX-License-Identifier: GPL-3.0-or-later
"""Facades: values of ours that a script may hold, and that nothing can change.

C code that a script reaches may set attributes of any value, past every guard: `copy.copy` does, through
`__reduce_ex__`. So a facade has no `__dict__` and no attribute that can be set, not even by `object.__setattr__`; what
it checks and what it does come from one place that is read once. There are three kinds:

- `seal(function)`: a function. The script holds its method `__call__`, which C makes and nothing can write to.
- `bind(function, state)`: a function that works on `state`; a bound method of Python is immutable, too.
- a subclass of `Facade`, whose slots `hide` removes from the class: only the reader and the writer that `hide` returns,
  and that only our modules hold, can find the state.

Classes that a script holds as they are (an exception to be caught, a base to derive from) have the metaclass `Sealed`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType, MethodWrapperType
from typing import Any, Final, NoReturn

__all__ = (
    "Facade",
    "Sealed",
    "bind",
    "expose",
    "hide",
    "is_immutable",
    "is_sealed",
    "may_be_held",
    "seal",
    "sealing",
    "unseal",
)

_IMMUTABLE_TYPE: Final = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE, which CPython sets for its built-in types."""


def seal(function: Any) -> Callable[..., Any]:
    """Return a value that a script calls like the function, and that cannot be changed.

    Two calls return equal values with equal hashes. A value that is no Python function is returned as it is.
    """
    sealed: Callable[..., Any] = function.__call__ if type(function) is FunctionType else function
    return sealed


def sealing(read: Callable[..., Any]) -> Callable[[Any, Any, str], Any]:
    """Return a reader of a member (`host.Reader`) that seals the function that `read` returns."""

    def reading(host: Any, owner: Any, name: str) -> Any:
        return seal(read(host, owner, name))

    return reading


def bind(function: Callable[..., Any], state: object) -> MethodType:
    """Return a callable that a script may hold: `bind(f, state)(x)` is `f(state, x)`. `state` may not be None."""
    return MethodType(function, state)


def is_sealed(value: object) -> bool:
    """Return whether `seal` made this value."""
    return type(value) is MethodWrapperType and type(value.__self__) is FunctionType


def unseal(value: Any) -> Any:
    """Return the function that `seal` sealed; anything else is returned as it is."""
    return value.__self__ if is_sealed(value) else value


class Facade:
    """Base of the classes whose instances a script may hold.

    A subclass has `__slots__`, hides them by `hide`, and sets them by the writers that `hide` returns:

        class Point(Facade):
            __slots__ = ("x",)

            def __init__(self, x: float) -> None:
                _set_x(self, x)

        _x, _set_x = hide(Point, "x")
    """

    __slots__ = ()

    def __setattr__(self, name: str, new: Any) -> None:
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects cannot be deleted")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(f"cannot copy or pickle {type(self).__name__!r} objects")


def hide(kind: type[Facade], slot: str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Remove a slot from a facade's class; return its reader and its writer.

    The slot keeps its memory and loses its name: neither attribute access nor `object.__setattr__` finds it.
    """
    member = vars(kind)[slot]
    delattr(kind, slot)
    return member.__get__, member.__set__


class Sealed(type):
    """Metaclass of classes that a script may hold: nothing can set their attributes after the class statement."""

    def __setattr__(cls, name: str, new: object) -> None:
        raise TypeError(f"cannot set {name!r} attribute of immutable type {cls.__name__!r}")

    def __delattr__(cls, name: str) -> None:
        raise TypeError(f"cannot delete {name!r} attribute of immutable type {cls.__name__!r}")


def is_immutable(kind: type) -> bool:
    """Return whether nothing can set an attribute of this class, by trying to set one."""
    if kind.__flags__ & _IMMUTABLE_TYPE:
        return True
    try:
        kind._probe = None  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return True
    del kind._probe  # type: ignore[attr-defined]
    return False


def may_be_held(kind: type) -> bool:
    """Return whether a script may hold a class as it is: nothing can change it, nor give its instances attributes.

    Exceptions accept attributes, but nothing reads these; classes of ours protect their own instances.
    """
    ours = type(kind) is not type
    return is_immutable(kind) and (ours or not kind.__dictoffset__ or issubclass(kind, BaseException))


def expose(value: Any) -> Any:
    """Return a value of ours, of the standard library or of Blender in the form in which a script may hold it.

    Raises:
        TypeError: whoever holds the value could change it: use a facade instead.
    """
    kind = type(value)
    if kind is FunctionType:
        return value.__call__
    if isinstance(value, type):
        if may_be_held(value):
            return value
    elif not kind.__dictoffset__:
        return value
    elif callable(value) and is_immutable(kind):  # functions that numpy makes in C
        return value.__call__
    raise TypeError(f"a script may not hold {value!r}: it could be changed")
