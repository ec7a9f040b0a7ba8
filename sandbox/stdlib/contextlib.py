# SPDX-License-Identifier: GPL-3.0-or-later
"""`contextlib` for scripts."""

from __future__ import annotations

import types
from typing import Any

from ..guard.facade import Facade, bind, hide
from ..guard.seam import Guard
from .io import redirecting

__all__ = ("contextlib_members",)


def contextlib_members(guard: Guard) -> dict[str, object]:
    """Return the members of `contextlib`, for one run."""

    def suppress(*exceptions: Any) -> _Suppress:
        kinds = tuple(map(guard.builtins.real, exceptions))
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError("suppress() takes exceptions, one after the other")
        return _Suppress(kinds)

    return {
        "suppress": suppress,
        "nullcontext": lambda enter_result=None: _NullContext(enter_result),
        "contextmanager": lambda function: _Managed(function),
        **redirecting(guard),
    }


class _Suppress(Facade):
    """The context manager that `contextlib.suppress` returns."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: tuple[type[Exception], ...]) -> None:
        _set_kinds(self, kinds)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: object) -> bool:
        return kind is not None and issubclass(kind, _kinds(self))


_kinds, _set_kinds = hide(_Suppress, "kinds")


class _NullContext(Facade):
    """The context manager that `contextlib.nullcontext` returns."""

    __slots__ = ("entered",)

    def __init__(self, entered: Any) -> None:
        _set_entered(self, entered)

    def __enter__(self) -> Any:
        return _entered(self)

    def __exit__(self, *_error: object) -> None:
        pass


_entered, _set_entered = hide(_NullContext, "entered")


class _Managed(Facade):
    """A generator function or method with the decorator `contextlib.contextmanager`."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        _set_function(self, function)

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        return self if instance is None else bind(self, instance)

    def __call__(self, *arguments: Any, **named: Any) -> _Context:
        return _Context(_function(self)(*arguments, **named))


_function, _set_function = hide(_Managed, "function")


class _Context(Facade):
    """The context manager around a generator that yields once."""

    __slots__ = ("generator",)

    def __init__(self, generator: Any) -> None:
        if type(generator) is not types.GeneratorType:
            raise TypeError("contextmanager() takes a function with one yield")
        _set_generator(self, generator)

    def __enter__(self) -> Any:
        for value in _generator(self):
            return value
        raise RuntimeError("generator didn't yield")

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        generator = _generator(self)
        if error is None:
            for _ in generator:
                raise RuntimeError("generator didn't stop")
            return False
        try:
            generator.throw(error)
        except StopIteration as ended:
            return ended is not error
        except BaseException as raised:
            if raised is error or (isinstance(error, StopIteration) and raised.__cause__ is error):
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")


_generator, _set_generator = hide(_Context, "generator")
