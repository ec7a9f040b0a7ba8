# SPDX-License-Identifier: GPL-3.0-or-later
"""C code that a script has called for each item, or by an operator, runs no method of the script in its midst."""

from __future__ import annotations

import pytest

from support.sandboxing import language

_OWN = """
import array, functools, itertools, json, re
from mathutils import Color, Euler, Matrix, Quaternion, Vector
class Own:
    def __float__(self):
        row.clear()
        return 1.0
    def __index__(self):
        while numbers: numbers.pop()
        return 1
numbers = array.array("i", [1, 2, 3])
row = [1.5, 2.5, Own()]
"""
#: Functions in C that ask their argument for numbers.
ASKING = {"Vector((1, 2, 3)).dot": "row", "Vector": "row", "Quaternion": "row", "numbers.append": "Own()"}
_REFUSED = "in the midst of its own work: give it plain values, such as list(…) and float(…) make"
#: How a script has C code call a function for each item.
EACH = [
    "list(map(F, [X]))",
    "list(filter(F, [X]))",
    "sorted([X], key=F)",
    "max([X, X], key=F)",
    "[X].sort(key=F)",
    "list(itertools.starmap(F, [(X,)]))",
    "list(itertools.takewhile(F, [X]))",
    "list(itertools.dropwhile(F, [X]))",
    "list(itertools.filterfalse(F, [X]))",
    "list(itertools.groupby([X], F))",
    "functools.partial(F)(X)",
    "json.dumps({'a': {1, 2}}, default=lambda _: F(X))",
    "list(functools.partial(map, F)([X]))",
    "sum(map(F, [X]))",
    "dict(zip([1], map(F, [X])))",
]


@pytest.mark.parametrize("function", ASKING)
@pytest.mark.parametrize("each", EACH)
def test_a_function_in_c_that_is_called_for_each_item_asks_no_class_of_the_script(
    each: str, function: str
) -> None:
    call = each.replace("F", function).replace("X", ASKING[function])
    script = _OWN + f"try: {call}\nexcept TypeError: pass\n"  # mathutils' own error takes the place of ours
    assert _REFUSED in str(language.refusal(script, level="blender"))


@pytest.mark.parametrize(
    "call", ["map(float, [Own()])", "map(bool, [Own()])", "map(str, [1])", "filter(float, [Own()])"]
)
def test_pythons_own_builtins_may_ask(call: str) -> None:
    assert len(language.run(_OWN + f"result = list({call})", level="blender")["result"]) == 1


VECTORS = ["Vector((1, 2, 3))", "Quaternion()", "Euler()", "Color()"]
SIGNS = "+ - * / // @ % **".split()


@pytest.mark.parametrize("vector", [*VECTORS, "Matrix()"])
@pytest.mark.parametrize("sign", SIGNS)
def test_no_operator_of_a_vector_asks_a_class_of_the_script(vector: str, sign: str) -> None:
    """The method could free what the vector shows: a vertex of a BMesh, for example."""
    for code in (f"v {sign} Own()", f"v {sign}= Own()", f"Own() {sign} v"):
        script = (
            _OWN
            + f"numbers = []\nv, asked = {vector}, len(row)\ntry: {code}\nexcept (TypeError, AttributeError): pass\n"
        )
        ran = language.run(script + "result = len(row)", level="blender", stopped=True)
        assert ran.error is not None or ran["result"] == 3, code


@pytest.mark.parametrize("vector", VECTORS)
def test_no_slice_of_a_vector_asks_a_class_of_the_script(vector: str) -> None:
    for key in (":", "0:len(v)"):
        script = (
            _OWN + f"v = {vector}\nrow = [1.5, *row][-len(v):]\ntry: v[{key}] = row\nexcept TypeError: pass\n"
        )
        assert _REFUSED in str(language.refusal(script, level="blender"))


def test_slices_of_vectors_take_numbers() -> None:
    script = "from mathutils import Vector\nv = Vector((1, 2, 3))\nv[:] = [4, 5, 6]\nv[0:2] = (x for x in (7, 8))\n"
    assert language.run(script + "result = v[:]", level="blender")["result"] == (7.0, 8.0, 6.0)


@pytest.mark.parametrize(
    "call", ["extend([Own(), 7])", "fromlist([Own(), 7])", "extend(Own() for _ in (1, 2))"]
)
def test_an_array_that_grows_asks_before_it_makes_room(call: str) -> None:
    """Python's own code would write where the array was before the method made it shorter."""
    script = _OWN.replace("from mathutils", "# ") + f"numbers.{call}\nresult = numbers.tolist()"
    assert language.run(script, level="math")["result"][0] == 1


def test_groups_hold_the_keys_that_are_compared() -> None:
    script = """
import itertools
class Key:
    def __init__(self, n): self.n = n
    def __eq__(self, other):
        if armed:
            armed.clear()
            try:
                next(groups)
            except ValueError as error:
                result.append(str(error))
            return NotImplemented
        return self.n == other.n
armed, result = [], []
groups = itertools.groupby(range(30), lambda item: Key(item // 3))
_, group = next(groups)
next(group)
armed.append(1)
list(group)
"""
    assert language.run(script, level="math")["result"] == ["generator already executing"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("[(k, list(g)) for k, g in groupby([1, 1, 2, 1])]", [(1, [1, 1]), (2, [2]), (1, [1])]),
        ("[(k, len([*g])) for k, g in groupby('aAb', str.upper)]", [("A", 2), ("B", 1)]),
        ("[(k, list(g)) for k, g in list(groupby([1, 1, 2]))]", [(1, []), (2, [])]),
        ("list(groupby([]))", []),
        ("[k for k, _ in groupby([nan, nan, 2])]", None),
        (
            "(lambda i: (lambda g: (next(g), next(i)[0], list(g)))(next(i)[1]))(groupby([1, 1, 2, 2]))",
            (1, 2, []),
        ),
    ],
)
def test_groups_are_those_of_python(code: str, expected: object) -> None:
    script = "from itertools import groupby\nnan = float('nan')\nresult = " + code
    found = language.run(script, level="math")["result"]
    assert len(found) == 2 if expected is None else found == expected
