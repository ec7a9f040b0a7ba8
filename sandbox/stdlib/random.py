# SPDX-License-Identifier: GPL-3.0-or-later
"""`random` for scripts: gives Python's own numbers for the same seed; a script can only call the generators.

A generator draws positions, and the guards take the items at these positions; so the guards see each access to a
script's own sequence. Numbers are checked before Python computes with them.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any, Final

from ..guard.facade import Facade, hide, seal
from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard

__all__ = ("Generator", "random_members")

_DISTRIBUTIONS: Final = (
    *("uniform", "triangular", "gauss", "normalvariate", "betavariate", "expovariate", "gammavariate"),
    *("lognormvariate", "vonmisesvariate", "paretovariate", "weibullvariate", "binomialvariate"),
)
"""Functions that take numbers and return a number."""
_WHOLE: Final = ("randint", "randrange")
_SEEDS: Final = frozenset({type(None), int, float, bool, str, bytes, bytearray})
_NUMBERS: Final = frozenset({int, float, bool})
_VERSION: Final = 3
"""The version of the state that `getstate()` returns."""
Functions = dict[str, Callable[..., Any]]


def random_members(guard: Guard) -> dict[str, object]:
    """Return the members of `random`. Each run has its own generator: a seed changes nothing for Blender."""
    generator = random.Random()  # noqa: S311 - as the script's author expects of `random`
    made: dict[str, object] = {name: seal(each) for name, each in _functions(guard, generator).items()}

    def Random(seed: Any = None) -> Generator:  # noqa: N802 - as Python calls it
        generator = random.Random()  # noqa: S311
        functions = _functions(guard, generator)
        functions["seed"](seed)
        return Generator(functions)

    guard.allowed[Generator] = _METHODS
    return made | {"Random": guard.builtins.add_facade(Random, Generator)}


class Generator(Facade):
    """The generator that `random.Random(seed)` returns."""

    __slots__ = ("functions",)

    def __init__(self, functions: Functions) -> None:
        _set_functions(self, functions)

    def __repr__(self) -> str:
        return "<random.Random object>"


_functions_of, _set_functions = hide(Generator, "functions")


def _method(name: str) -> Callable[..., Any]:
    def method(self: Generator, *arguments: Any, **named: Any) -> Any:
        return _functions_of(self)[name](*arguments, **named)

    method.__name__ = method.__qualname__ = name
    return method


def _functions(guard: Guard, generator: random.Random) -> Functions:
    """Return the functions of `random`, which draw from this generator."""
    simple = {
        name: _of_numbers(guard, getattr(generator, name))
        for name in _DISTRIBUTIONS
        if hasattr(generator, name)
    }
    return {
        "random": generator.random,
        **simple,
        **{name: _of_integers(getattr(generator, name)) for name in _WHOLE},
        **_state(guard, generator),
        **_draws(guard, generator),
    }  # fmt: skip


def _of_numbers(guard: Guard, function: Callable[..., Any]) -> Callable[..., Any]:
    simple = guard.simple

    def distribution(*numbers: Any, **named: Any) -> Any:
        if named or not simple.issuperset(map(type, numbers)):
            numbers = tuple([each if type(each) in simple else float(each) for each in numbers])
            named = {name: each if type(each) in simple else float(each) for name, each in named.items()}
        return function(*numbers, **named)

    return distribution


def _of_integers(function: Callable[..., int]) -> Callable[..., int]:
    def integer(*numbers: Any, **named: Any) -> int:
        whole = [each if type(each) in _NUMBERS or each is None else operator.index(each) for each in numbers]
        return function(*whole, **{name: operator.index(each) for name, each in named.items()})

    return integer


def _state(guard: Guard, generator: random.Random) -> Functions:
    def seed(a: Any = None, version: Any = 2) -> None:
        if type(a) not in _SEEDS:
            raise TypeError(
                "The only supported seed types are: None, int, float, str, bytes, and bytearray: "
                f"not {type(a).__name__}"
            )
        generator.seed(a, 1 if version == 1 else 2)

    def getstate() -> tuple[Any, ...]:
        return generator.getstate()

    def setstate(state: Any) -> None:
        version, numbers, following = tuple(state)
        if version != _VERSION or type(following) not in (float, type(None)):
            raise ValueError("setstate() takes what getstate() gave")
        if type(numbers) is not tuple or not all(type(each) is int for each in numbers):
            raise ValueError("setstate() takes what getstate() gave")
        generator.setstate((_VERSION, numbers, following))

    def getrandbits(k: Any) -> int:
        count = operator.index(k)
        guard.operators.bits(count)
        return generator.getrandbits(count)

    def randbytes(n: Any) -> bytes:
        count = operator.index(n)
        guard.operators.length(count)
        return generator.randbytes(count)

    return {
        "seed": seed,
        "getstate": getstate,
        "setstate": setstate,
        "getrandbits": getrandbits,
        "randbytes": randbytes,
    }


def _draws(guard: Guard, generator: random.Random) -> Functions:
    def choice(seq: Any) -> Any:
        if type(seq) is list or type(seq) is tuple:
            return generator.choice(seq)
        return guard.getitem(seq, generator.choice(range(len(seq))))

    def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: Any = 1) -> list[Any]:
        count = operator.index(k)
        guard.operators.length(count)
        drawn = generator.choices(
            range(len(population)), numbers(weights), cum_weights=numbers(cum_weights), k=count
        )
        return items(population, drawn)

    def sample(population: Any, k: Any, *, counts: Any = None) -> list[Any]:
        if type(population) in (set, frozenset, dict):
            raise TypeError("Population must be a sequence.  For dicts or sets, use sorted(d).")
        count = operator.index(k)
        guard.operators.length(count)
        each = None if counts is None else [operator.index(number) for number in counts]
        return items(population, generator.sample(range(len(population)), count, counts=each))

    def items(population: Any, drawn: list[int]) -> list[Any]:
        if type(population) is list or type(population) is tuple:
            return [population[place] for place in drawn]
        return [guard.getitem(population, place) for place in drawn]

    def numbers(weights: Any) -> list[Any] | None:
        if weights is None:
            return None
        return [each if type(each) in _NUMBERS else float(each) for each in guard.iterated(weights)]

    def shuffle(x: Any) -> None:
        order = list(range(len(x)))
        generator.shuffle(order)
        if type(x) is list:
            x[:] = [x[place] for place in order]
            return
        for place, item in enumerate(items(x, order)):
            guard.setitem(x, place, item)

    return {"choice": choice, "choices": choices, "sample": sample, "shuffle": shuffle}


_METHODS: Final = frozenset(
    {"random", "choice", "choices", "sample", "shuffle", "seed", "getstate", "setstate", "getrandbits", "randbytes"}
    | {*_WHOLE, *(name for name in _DISTRIBUTIONS if hasattr(random, name))}
)  # fmt: skip
for _name in _METHODS:
    setattr(Generator, _name, _method(_name))

may_call_scripts(globals())
