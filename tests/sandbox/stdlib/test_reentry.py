# SPDX-License-Identifier: GPL-3.0-or-later
"""No container crashes where the methods of a script's keys change it while C code works on it.

`a == b`, `a < b` and `hash(a)` of a script's class may do anything, in the middle of a lookup or a sort. Each kind of
container that a script can have is changed at random this way.
"""

from __future__ import annotations

import pytest

from support.running import fork
from support.sandboxing import language

MAKING = {
    "dict": "dict.fromkeys(keys, 0)",
    "OrderedDict": "collections.OrderedDict.fromkeys(keys, 0)",
    "defaultdict": "collections.defaultdict(int, dict.fromkeys(keys, 0))",
    "Counter": "collections.Counter(keys)",
    "own dict": "Own(dict.fromkeys(keys, 0))",
    "set": "set(keys)",
    "own set": "OwnSet(keys)",
    "list": "list(keys)",
    "own list": "OwnList(keys)",
    "deque": "collections.deque(keys)",
    "bounded deque": "collections.deque(keys, 9)",
    "cache": "functools.lru_cache(4)(lambda key: key)",
}
_SCRIPT = """
import bisect, collections, copy, functools, heapq, itertools, random
random.seed({seed})
class Own(dict): pass
class OwnList(list): pass
class OwnSet(set): pass
class Key:
    def __init__(self, value): self.value = value
    def __hash__(self):
        sometimes()
        return self.value % 3
    def __eq__(self, other):
        sometimes()
        return isinstance(other, Key) and self.value == other.value
    def __lt__(self, other):
        sometimes()
        return self.value < other.value
depth = 0
def sometimes():
    global depth
    if depth < 3 and random.random() < 0.05:
        depth += 1
        try:
            change()
        finally:
            depth -= 1
def call(name, *given):
    return getattr(x, name)(*given)
def change():
    key, other = random.choice(keys), random.choice(keys)
    way = ways[random.randrange(len(ways))]
    try:
        way(key, other)
    except (TypeError, AttributeError):
        if way in ways and way is not step:
            ways.remove(way)  # the container has no such way
    except (KeyError, ValueError, IndexError, RuntimeError, RecursionError):
        pass
def put(key, other): x[key] = other
def put_at(key, other): x[key.value] = other
def remove(key, other): del x[key]
def remove_at(key, other): del x[key.value]
def replace(key, other): x[key.value:other.value] = [key, other]
def fill():
    for key in keys:
        if hasattr(x, "append"):
            x.append(key)
        elif hasattr(x, "add"):
            x.add(key)
        elif hasattr(x, "update"):
            x[key] = 0
def begin(key, other): iterators.append(random.choice([iter, reversed, enumerate])(x))
def begin_view(key, other): iterators.append(iter(random.choice([x.items, x.keys, x.values])()))
def step(key, other): next(random.choice(iterators), None)
def group(key, other): iterators.append(itertools.groupby(x))
def unite(key, other):
    global y
    y |= x
def cross(key, other):
    global x
    x ^= y
ways = [put, put_at, remove, remove_at, replace, begin, begin_view, step, step, group]
for name in {methods}:
    ways += [
        lambda key, other, name=name: call(name),
        lambda key, other, name=name: call(name, key),
        lambda key, other, name=name: call(name, key, other),
        lambda key, other, name=name: call(name, [key, other]),
        lambda key, other, name=name: call(name, {{key: other}}),
        lambda key, other, name=name: call(name, key.value, key),
    ]
ways += [
    lambda key, other: key in x, lambda key, other: x == copy.copy(x), lambda key, other: x | {{key: other}},
    lambda key, other: x & {{key, other}}, lambda key, other: x - {{key, other}}, lambda key, other: x < {{key, other}},
    lambda key, other: sorted(x), lambda key, other: max(x), lambda key, other: x(key),
    lambda key, other: heapq.heappush(x, key), lambda key, other: heapq.heappop(x), lambda key, other: heapq.heapify(x),
    lambda key, other: heapq.heapreplace(x, key), lambda key, other: bisect.insort(x, key),
    lambda key, other: bisect.bisect(x, key), lambda key, other: list(x), lambda key, other: set(x),
    lambda key, other: x.update(y), lambda key, other: y.update(x), lambda key, other: y.clear(),
    lambda key, other: y.add(key), lambda key, other: y.discard(key), lambda key, other: x | y,
    lambda key, other: y ^ x,
    lambda key, other: x.union(y), lambda key, other: x.symmetric_difference_update(y), lambda key, other: {{*x, *y}},
    lambda key, other: dict.fromkeys(y), lambda key, other: frozenset(y) | y, lambda key, other: x == y, unite, cross,
]
keys, iterators, x = [Key(value) for value in range(9)], [iter(())], []
y = {{*keys[:5]}}
x = {making}
for _ in range(400):
    change()
    if hasattr(x, "__len__") and len(x) < 5:
        fill()
"""
_METHODS = [name for kind in (dict, set, list) for name in dir(kind) if not name.startswith("_")] + [
    "appendleft",
    "cache_clear",
    "extendleft",
    "move_to_end",
    "popitem",
    "popleft",
    "rotate",
    "subtract",
]


def _run(making: str, seeds: range) -> int:
    for seed in seeds:
        language.run(_SCRIPT.format(seed=seed, making=making, methods=sorted({*_METHODS})), level="math")
    return len(seeds)


@pytest.mark.parametrize("kind", MAKING)
def test_no_key_crashes_its_container(kind: str) -> None:
    assert fork.run(_run, MAKING[kind], range(25), timeout=100) == 25


CHANGES = [
    "x.add(1)",
    "x.clear()",
    "x.discard(1)",
    "x.pop()",
    "x.remove(1)",
    "x.update([1])",
    "x.difference_update([1])",
    "x.intersection_update([1])",
    "x.symmetric_difference_update([1])",
    "x |= {1}",
    "x &= {1}",
    "x -= {1}",
    "x ^= {1}",
    "set.__init__(x, [1])",
    "(lambda add: add(1))(x.add)",
    "set.add(x, 1)",
    "set.clear(x)",
    "getattr(x, 'add')(1)",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "use", ["x.add(Key())", "x |= {Key()}", "x.update([Key()])", "x | {Key()}", "x ^ {Key()}"]
)
@pytest.mark.parametrize("made", ["{Key()}", "Own([Key()])"])
def test_a_set_does_not_change_while_its_items_are_compared(change: str, use: str, made: str) -> None:
    """Python itself would damage the set's memory (CPython issue 141805)."""
    script = f"""
class Own(set): pass
class Key:
    def __hash__(self): return 1
    def __eq__(self, other):
        global x
        try:
            {change}
        except Exception as error:
            seen.append(repr(error))
        else:
            seen.append("changed")
        return False
seen, x = [], {made}
{use}
result = set(seen)
"""
    found = language.run(script, level="math")["result"]
    assert found == {"RuntimeError('set changed while Python compares its items')"}


def test_a_copied_set_does_not_change_while_it_is_filled() -> None:
    script = """
import copy
class Key:
    def __init__(self, own): self.own = own
    def __hash__(self):
        if copying:
            try: self.own.add(1)
            except Exception as error: seen.append(repr(error))
            else: seen.append("changed")
        return 1
copying, seen, x = [], [], set()
x.add(Key(x))
copying.append(1)
copy.deepcopy(x)
result = set(seen)
"""
    found = language.run(script, level="math")["result"]
    assert found == {"RuntimeError('set changed while Python compares its items')"}


def test_what_only_reads_a_set_takes_no_longer_with_classes() -> None:
    script = """
import time
class A: pass
def seconds(big):
    best = 1
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(100): small.issubset(big), small.isdisjoint(big), small.intersection(big)
        best = min(best, time.perf_counter() - begin)
    return best
small = {1, 2}
result = seconds(set(range(200_000))) / seconds({1, 2, 3})
order = [set(range(0, 97 * n, 97)) for n in range(60)]
same = [tuple(set(s)) for s in order]
"""
    ran = language.run(script, level="math")
    assert ran["result"] < 10
    assert ran["same"] == [tuple(set(s)) for s in ran["order"]]


def test_an_operator_of_another_class_may_change_a_set() -> None:
    script = """
class Pipe:
    def __init__(self, function): self.function = function
    def __ror__(self, left): return self.function(left)
result = {1, 2, 3} | Pipe(lambda items: items.discard(1) or items)
class Own(set): pass
own = Own([1])
own |= {5}
"""
    ran = language.run(script, level="math")
    assert (ran["result"], ran["own"]) == ({2, 3}, {1, 5})
