# SPDX-License-Identifier: GPL-3.0-or-later
"""`numpy.random` for scripts: each run has its own generators, and a script only gets their functions.

The lists below name the distributions that end soon, whatever their parameters.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

from ..guard.modules import Later, View, make_view
from .array_arguments import GuardedArrays
from .array_lists import LISTS

__all__ = ("check_out", "random_members")

_STATE: Final = 624
"""How many numbers the state of the Mersenne twister has."""


@cache
def _listed(section: str) -> tuple[str, ...]:
    return tuple(LISTS[section].split())


def random_members(arrays: GuardedArrays) -> dict[str, object]:
    """Return the members of `numpy.random`, for one run."""
    np = arrays.np

    def seeded(seed: Any) -> Any:
        """Return a seed as numpy takes it: a number, some numbers, or None."""
        if seed is None or type(seed) is int:
            return seed
        return (
            operator.index(seed)
            if hasattr(type(seed), "__index__") and not np.ndim(seed)
            else arrays.inward(seed)
        )

    def default_rng(seed: Any = None) -> View:
        if isinstance(seed, View):
            return seed
        generator = np.random.default_rng(seeded(seed))
        return make_view("Generator", _functions(arrays, generator, "generator"))

    def random_state(seed: Any = None) -> View:
        return make_view("RandomState", _legacy(arrays, np.random.RandomState(seeded(seed)), seeded))

    made = _legacy(arrays, np.random.RandomState(), seeded)
    return made | {"default_rng": default_rng, "RandomState": random_state}


def _functions(arrays: GuardedArrays, generator: Any, section: str) -> dict[str, object]:
    names = [name for name in _listed(section) if hasattr(generator, name)]
    return {name: Later(partial(_function, arrays, getattr(generator, name))) for name in names}


def _function(arrays: GuardedArrays, function: Any) -> Callable[..., Any]:
    return check_out(arrays.np, function.__name__, arrays.wrapped(function))


def check_out(np: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Check the argument `out` of a Generator's function, which numpy takes for an array whatever it is.

    It would write where the bytes of the object say.
    """
    kind, place = np.ndarray, _OUT.get(name)
    if place is None:
        return function

    def call(*arguments: Any, **named: Any) -> Any:
        for out in (*arguments[place:], named.get("out")):
            if out is not None and type(out) is not kind:
                raise TypeError(f"{name}(): out is an array, not of type {type(out).__name__}")
        return function(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call


_OUT: Final = {
    "permuted": 2,
    "random": 2,
    "standard_exponential": 3,
    "standard_gamma": 3,
    "standard_normal": 2,
}
"""The place of `out` among the arguments of a Generator's functions."""


def _legacy(arrays: GuardedArrays, generator: Any, seeded: Callable[[Any], Any]) -> dict[str, object]:
    """Return the functions of a `RandomState`; check a state before numpy reads memory by it."""
    np = arrays.np

    def seed(seed: Any = None) -> None:
        generator.seed(seeded(seed))

    def get_state() -> tuple[Any, ...]:
        return tuple(generator.get_state())

    def set_state(state: Any) -> None:
        name, keys, position, *gauss = tuple(state)
        keys = np.asarray(arrays.inward(keys))
        if name != "MT19937" or keys.shape != (_STATE,) or keys.dtype.kind != "u":
            raise ValueError("set_state() takes what get_state() gave")
        position = operator.index(position)
        if not 0 <= position <= _STATE:
            raise ValueError("set_state() takes what get_state() gave")
        has_gauss, cached = (bool(gauss[0]), float(gauss[1])) if len(gauss) == 2 else (False, 0.0)
        generator.set_state(("MT19937", keys, position, int(has_gauss), cached))

    functions = _functions(arrays, generator, "random")
    if hasattr(generator, "random_sample"):
        functions |= dict.fromkeys(("ranf", "sample"), functions["random_sample"])
    return functions | {"seed": seed, "get_state": get_state, "set_state": set_state}
