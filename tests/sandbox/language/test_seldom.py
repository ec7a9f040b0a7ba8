# SPDX-License-Identifier: GPL-3.0-or-later
"""How often code runs as far as a script's text shows; code that runs a few times calls the guard alone."""

from __future__ import annotations

import ast

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.inference import Scopes
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script

from support.sandboxing.language import run


def is_seldom(source: str) -> bool:
    """Return whether the code around the name `here` runs a few times."""
    tree = ast.parse(source)
    kinds = Scopes(tree)
    around: list[ast.AST] = [tree]

    def find(node: ast.AST) -> bool:
        if isinstance(node, ast.Name) and node.id == "here":
            return True
        for child in ast.iter_child_nodes(node):
            if find(child):
                if isinstance(node, _PIECES) and child is not getattr(node, "iter", None):
                    around.append(node)
                return True
        return False

    assert find(tree), source
    return (around[1] if len(around) > 1 else tree) in kinds.seldom


_PIECES = (
    *(ast.FunctionDef, ast.Lambda, ast.For, ast.While),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


@pytest.mark.parametrize(
    "source",
    [
        "here",
        "if x:\n    here",
        "for x in here: pass",
        "for x in range(16): here",
        "for x in (1, 2, 3):\n    for y in 'a', 'b': here",
        "for x in [1]:\n    for y in range(4, 20): here",
        "for i, x in enumerate(sorted([3, 1])): here",
        "for a, b in zip([1, 2], range(1000)): here",
        "for key, value in {'a': 1}.items(): here",
        "[here for x in (1, 2) for y in range(8)]",
        "def f(): here\nf()\nf()",
        "def f(): here\ndef g():\n    f()\n    f()\nfor x in range(8): g()",
        "def main(): here\nif __name__ == '__main__': main()",
        "def g(): f()\ndef f(): here\ng()",
        "def f():\n    for x in range(4): here\nfor y in range(4): f()",
        "class A:\n    def __init__(self): here\nA()\nA()",
        "class A:\n    def paint(self): here\na = A()\na.paint()",
        "def f():\n    for x in (): here\nf()",
        "class A:\n    @staticmethod\n    def paint(): here\nA.paint()",
        "for x in range(0):\n    for y in z: here",
        "class A:\n    here",
    ],
)
def test_seldom(source: str) -> None:
    assert is_seldom(source)


@pytest.mark.parametrize(
    "source",
    [
        "for x in range(17): here",
        "for x in values: here",
        "for x in range(n): here",
        "for x in range(): here",
        "for x in (1, *values): here",
        "for x in {**values}: here",
        "while x: here",
        "while here: pass",
        "[here for x in values]",
        "[here for x in range(3) for y in range(6)]",
        "lambda: here",
        "def f(): here",
        "def g(): f()\ndef f(): here",
        "class A(Operator):\n    def execute(self, context):\n        for x in (1, 2): here",
        "class A:\n    def __init__(self): here\n    def f(self): return type(self)()\nA()",
        "class A:\n    def __init__(self): here\n    def f(self): return self.__class__()\nA()",
        "class A:\n    def __init__(self): here\n    @classmethod\n    def f(cls): return cls()\nA()",
        "def f(): here\nfor x in range(17): f()",
        "def f(): here\nwhile x: f()",
        "def f(): here\nsorted(values, key=f)",
        "def f(): here\ng = f",
        "def f():\n    here\n    f()\nf()",
        "def f():\n    here\n    g()\ndef g(): f()\ng()",
        "@cached\ndef f(): here",
        "class A:\n    @property\n    def size(self): here\nA().size",
        "class A:\n    def __add__(self, other): here",
        "class A:\n    def __init__(self): here\nclass B(A): pass\nB()",
        "class A:\n    def __init__(self): here\nfor x in values: A()",
        "def f(): here\nfor x in range(4):\n    for y in range(5): f()",
    ],
)
def test_often(source: str) -> None:
    assert not is_seldom(source)


def test_thousands_of_functions_that_call_each_other_are_counted_soon() -> None:
    """Each count ends after a few steps, whatever calls what."""
    count = 3000
    source = "".join(
        f"def f{i}():\n    f{(i + 1) % count}()\n    f{(i * 7) % count}()\n" for i in range(count)
    )
    assert not is_seldom(source + "f0()\ndef f0(): here\n")


@pytest.mark.parametrize("size", [1000, 9_000_000_000_000_000_000])
def test_loops_without_end_in_loops_are_counted(size: int) -> None:
    """Thousands of factors make no number of thousands of digits, nor one that is too large for a float."""
    clauses = "".join(f" for a{each} in range({size})" for each in range(5000))
    assert not is_seldom(f"f = lambda: [here{clauses} for b in x]")


def test_code_that_runs_seldom_is_about_half_as_long() -> None:
    line = "a = o.location.x + o.scale[0] * 2\n"
    seldom = compile_script(f"o = None\n{line * 50}").code
    often = compile_script("o = None\nwhile True:\n" + ("    " + line) * 50).code
    assert len(often.co_code) > 1.8 * len(seldom.co_code)


@pytest.mark.parametrize("loop", ["for i in range(2)", "for i in list(range(2))"], ids=["seldom", "often"])
def test_a_class_that_iterates_answers_in(loop: str) -> None:
    """`in` calls `__iter__` of a script's class: from the guard as from the script itself."""
    source = (
        "class Own:\n    def __iter__(self):\n        return iter([[1], [2]])\n"
        f"found = []\n{loop}:\n    key = [i]\n    found += [key in Own(), key not in Own()]\nresult = found"
    )
    assert run(source)["result"] == [False, True, True, False]


@pytest.mark.parametrize("loop", ["for i in range(2)", "for i in list(range(2))"], ids=["seldom", "often"])
def test_types_are_joined_whatever_stands_first(loop: str) -> None:
    assert run(f"{loop}:\n    a, b = None | int, int | None\nresult = a == b, isinstance(3, a)")[
        "result"
    ] == (
        True,
        True,
    )
