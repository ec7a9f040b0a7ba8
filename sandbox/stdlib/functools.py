# SPDX-License-Identifier: GPL-3.0-or-later
"""`functools` for scripts."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

from ..guard.facade import Facade, bind, hide, seal
from ..guard.reentry import calls_anything, may_call_scripts
from ..guard.seam import Guard
from ..guard.values.plain import SCALAR_TYPES
from ..language import hooks, names

__all__ = ("functools_members",)


def functools_members(guard: Guard) -> dict[str, object]:
    """Return the members of `functools`, for one run."""

    def reduce(function: Any, items: Any, *start: Any) -> Any:
        drawn = guard.builtins.ticked(iter(guard.iterated(items)))
        keep, step = guard.namespace[hooks.KEEP], guard.builtins.ticking(function)
        return functools.reduce(lambda total, item: keep(step(total, item)), map(keep, drawn), *start)

    def update_wrapper(wrapper: Any, wrapped: Any, **_options: Any) -> Any:
        own = isinstance(wrapper, types.FunctionType) and wrapper.__globals__ is guard.namespace
        if own and isinstance(wrapped, types.FunctionType):
            wrapper.__name__, wrapper.__qualname__ = wrapped.__name__, wrapped.__qualname__
            wrapper.__doc__ = wrapped.__doc__
        return wrapper

    def wraps(wrapped: Any, **_options: Any) -> Callable[[Any], Any]:
        return seal(lambda wrapper: update_wrapper(wrapper, wrapped))

    def total_ordering(kind: Any) -> Any:
        if not isinstance(kind, type) or kind not in guard.own:
            raise TypeError("total_ordering() decorates classes of the script")
        return functools.total_ordering(kind)

    def cached(function: Any, maxsize: Any, typed: Any) -> Any:
        return _Cached(guard, functools.lru_cache(maxsize, bool(typed))(lambda *a, **k: function(*a, **k)))

    def lru_cache(maxsize: Any = 128, typed: Any = False) -> Any:
        if callable(maxsize):
            return cached(maxsize, 128, False)
        return seal(lambda function: cached(function, maxsize, typed))

    def cmp_to_key(compare: Any) -> Callable[[Any], Any]:
        return seal(lambda value: _Key(value, compare))

    def partial(function: Any, /, *arguments: Any, **named: Any) -> Any:
        if not callable(function):
            raise TypeError("the first argument must be callable")
        return _Partial(function, arguments, named)

    def cached_property(function: Any) -> Any:
        return _CachedProperty(function)

    return {
        "cmp_to_key": cmp_to_key,
        "reduce": reduce,
        "wraps": wraps,
        "update_wrapper": update_wrapper,
        "total_ordering": total_ordering,
        "lru_cache": lru_cache,
        "cache": lambda function: cached(function, None, False),
        "partial": partial,
        "cached_property": cached_property,
    }


class _Cached(Facade):
    """A function with the decorator `functools.lru_cache`, which checks the arguments before it hashes them."""

    __slots__ = ("cached", "key")

    def __init__(self, guard: Guard, cached: Any) -> None:
        _set_key(self, guard.hashing.key)
        _set_cached(self, cached)

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        return self if instance is None else bind(self, instance)

    @calls_anything
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not SCALAR_TYPES.issuperset(map(type, arguments)):
            _key(self)(arguments)
        if named:
            _key(self)(tuple(named.values()))
        return _cached(self)(*arguments, **named)

    def cache_clear(self) -> None:
        """Forget all results."""
        _cached(self).cache_clear()

    def cache_info(self) -> Any:
        """Return the cache's hits, misses, maxsize and currsize."""
        return _cached(self).cache_info()

    def cache_parameters(self) -> dict[str, Any]:
        """Return the cache's maxsize and typed."""
        return dict(_cached(self).cache_parameters())


_key, _set_key = hide(_Cached, "key")
_cached, _set_cached = hide(_Cached, "cached")


class _Partial(Facade):
    """The callable that `functools.partial` returns."""

    __slots__ = ("state",)

    def __init__(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        _set_state(self, (function, arguments, named))

    @calls_anything
    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        function, first, given = _state(self)
        return function(*first, *arguments, **{**given, **named})

    @property
    def func(self) -> Any:
        """The function that the partial calls."""
        return _state(self)[0]

    @property
    def args(self) -> Any:
        """The partial's positional arguments, which come first."""
        return _state(self)[1]

    @property
    def keywords(self) -> dict[str, Any]:
        """A copy of the partial's keyword arguments."""
        return dict(_state(self)[2])


_state, _set_state = hide(_Partial, "state")


class _Key(Facade):
    """The sort key that the function of `functools.cmp_to_key` returns."""

    __slots__ = ("compare", "value")

    def __init__(self, value: Any, compare: Any) -> None:
        _set_value(self, value)
        _set_compare(self, compare)

    @calls_anything
    def __lt__(self, other: _Key) -> bool:
        return bool(_compare(self)(_value(self), _value(other)) < 0)


_value, _set_value = hide(_Key, "value")
_compare, _set_compare = hide(_Key, "compare")
_UNNAMED: Final = "<unnamed>"


class _CachedProperty(Facade):
    """The property that `functools.cached_property` makes, in classes of the script."""

    __slots__ = ("function", "name")

    def __init__(self, function: Any) -> None:
        _set_function(self, function)
        _set_name(self, _UNNAMED)

    def __set_name__(self, _owner: type, name: str) -> None:
        if names.is_dunder(name):
            raise TypeError(f"{name!r} cannot be a cached property")
        if _name(self) == _UNNAMED:
            _set_name(self, name)
        elif _name(self) != name:
            raise TypeError(
                f"cannot assign the same cached_property to two names ({_name(self)!r} and {name!r})"
            )

    @calls_anything
    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        if instance is None:
            return self
        name = _name(self)
        if name == _UNNAMED:
            raise TypeError("cannot use a cached_property that is not part of a class statement")
        held = vars(instance)
        if name not in held:
            held[name] = _function(self)(instance)
        return held[name]


_function, _set_function = hide(_CachedProperty, "function")
_name, _set_name = hide(_CachedProperty, "name")

may_call_scripts(globals())
