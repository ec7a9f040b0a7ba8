# SPDX-License-Identifier: GPL-3.0-or-later
"""A script's random numbers are those that Python gives for the same seed, and its generators are its own."""

from __future__ import annotations

import contextlib
import io
import random

import pytest

from support.sandboxing.language import refusal, run

SAME = {
    "every distribution": """
import random
random.seed(7)
for name in ("uniform", "gauss", "normalvariate", "betavariate", "gammavariate", "lognormvariate",
             "vonmisesvariate", "weibullvariate"):
    print(name, getattr(random, name)(1.5, 2.5))
print(random.random(), random.triangular(1, 5, 2), random.expovariate(2), random.paretovariate(3))
print(random.randint(1, 6), random.randrange(10), random.randrange(3, 90, 4), random.getrandbits(40))
print(random.randbytes(5), random.choice("abc"), random.choices([1, 2, 3], weights=[1, 5, 2], k=6))
print(random.choices("xyz", cum_weights=(1, 2, 9), k=4), random.sample(range(100), 5))
print(random.sample(["a", "b"], k=3, counts=[2, 4]))
""",
    "a generator of its own": """
import random
rng, other = random.Random(42), random.Random(42)
x, y = list(range(12)), list(range(12))
rng.shuffle(x)
random.random()
other.shuffle(y)
print(x, x == y, rng.random() == other.random(), rng.sample(x, 3), rng.choice((1, 2, 3)))
""",
    "seeds of all kinds": """
import random
for seed in (0, -3, 1.5, 2.0, "rock", b"x", True, 10 ** 30, float("inf")):
    print(random.Random(seed).random())
    random.seed(seed)
    print(random.random())
random.seed("old", version=1)
print(random.random())
""",
    "states": """
import random
random.seed(3)
random.gauss(0, 1)
state = random.getstate()
first = [random.random(), random.gauss(0, 1)]
random.setstate(state)
print(first == [random.random(), random.gauss(0, 1)], len(state), state[0])
rng = random.Random(1)
kept = rng.getstate()
a = rng.random()
random.setstate(kept)
print(a == random.random())
""",
    "sequences of the script's own": """
import random
class Deck:
    def __init__(self):
        self.cards = list("abcdef")
    def __len__(self):
        return len(self.cards)
    def __getitem__(self, place):
        return self.cards[place]
    def __setitem__(self, place, card):
        self.cards[place] = card
class Cards(list):
    pass
random.seed(5)
deck, cards = Deck(), Cards("abcdef")
random.shuffle(deck)
random.shuffle(cards)
print(deck.cards, list(cards), random.choice(deck), random.sample(cards, 2), random.choices(deck, k=3))
""",
    "what Python refuses": """
import random
def trial(function, *arguments):
    try:
        print(function(*arguments))
    except Exception as error:
        print(type(error).__name__)
trial(random.choice, [])
trial(random.randint, 5, 1)
trial(random.randrange, 0)
trial(random.sample, [1], 2)
trial(random.sample, {1, 2}, 1)
trial(random.seed, [1])
trial(random.Random, (1, 2))
trial(random.setstate, (3, (1, 2), None))
trial(random.setstate, (2, (), None))
trial(random.choices, [], None)
print(isinstance(random.Random(1), random.Random))
""",
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_in_python(name: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(SAME[name], "<plain>", "exec"), {"__name__": "__main__"})
    assert run(SAME[name]).output == out.getvalue()


def test_seeding_changes_nothing_for_the_host() -> None:
    before = random.getstate()
    run("import random\nrandom.seed(1)\nrandom.random()\nrandom.Random(2).shuffle([1, 2, 3])")
    assert random.getstate() == before


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.getrandbits(10 ** 9)",
        "import random\nrandom.randbytes(10 ** 9)",
        "import random\nrandom.choices([1], k=10 ** 9)",
        "import random\nrandom.Random(1).sample([1], 10 ** 9)",
    ],
)
def test_sizes_are_limited(source: str) -> None:
    assert "over the limit" in str(refusal(source))


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.Random(1).x = 2",
        "import random\nrandom.Random(1).seed = 2",
        "import random\nrandom.Random.seed = 2",
        "import random\nclass R(random.Random): pass",
        "import random\nrandom.Random(1)._functions",
        "import random\nrandom.Random(1).gauss_next",
        "import random\nclass A:\n    def __add__(s, o): return '%100000000d'\nrandom.vonmisesvariate(A(), 1)",
        "import random\nrandom.setstate((3, random.getstate()[1], [0] * 1000))",
    ],
)
def test_a_generator_cannot_be_changed(source: str) -> None:
    with pytest.raises(Exception, match=r"no attribute|cannot|may not|getstate|float") as caught:
        run(source)
    assert type(caught.value).__name__ in ("PolicyError", "AttributeError", "TypeError", "ValueError")
