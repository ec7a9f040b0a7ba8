# SPDX-License-Identifier: GPL-3.0-or-later
"""The closed world: every value that a script can reach is of one of five kinds (see `support/sandboxing/world.py`)."""

from __future__ import annotations

import ast
import collections
import json
import sys
import warnings
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.guard.facade import expose

from support.running import fork
from support.sandboxing import world
from support.sandboxing.language import refusal, run


def _walk(level: str) -> dict[str, list[str]]:
    """The ways to values outside the five kinds, by what they are; how many of each kind there are under "kinds"."""
    warnings.simplefilter("ignore")
    outside: dict[str, list[str]] = collections.defaultdict(list)
    kinds: collections.Counter[str] = collections.Counter()
    compiled: list[str] = []

    def note(event: str, details: tuple[Any, ...]) -> None:
        if event == "compile" and world.HOSTILE in str(details[0]):
            compiled.append(str(details[0]))

    sys.addaudithook(note)
    for path, value, guard in world.reachable(level):
        try:
            kinds[world.classify(guard, value)] += 1
        except world.Outside as error:
            outside[str(error)].append(path)
    if compiled:
        outside["a text that Python's compiler was given"] = compiled
    return {"kinds": [json.dumps(kinds)], **outside}


@pytest.mark.timeout(420)
@pytest.mark.parametrize(("level", "least"), [("math", 10_000), ("blender", 20_000)])
def test_every_reachable_value_is_of_one_of_the_five_kinds(level: str, least: int) -> None:
    found = fork.run(_walk, level, timeout=400)
    kinds = json.loads(found.pop("kinds")[0])
    assert found == {}
    assert sum(kinds.values()) > least
    assert {"plain", "own", "facade", "c"} <= kinds.keys()


def test_the_walk_notices_what_is_outside() -> None:
    """What the first release candidate gave out: classes, functions and objects of the library as they are."""
    import colorsys
    import random
    import types

    ran = run("x = 1")
    guard = ran["<getattr>"].__self__
    for value in (types.SimpleNamespace, types.SimpleNamespace(), colorsys.rgb_to_hsv, random.Random(1)):
        with pytest.raises(world.Outside):
            world.classify(guard, value)
    for value in (
        types.SimpleNamespace(),
        random.Random(1),
        warnings.WarningMessage,
    ):
        with pytest.raises(TypeError, match="a script may not hold"):
            expose(value)


#: What C code asks an instance for by name.
ASKED_BY_C = """__reduce_ex__ __reduce__ __copy__ __deepcopy__ __getstate__ __setstate__ __array_interface__
    __array_struct__ __array__ __array_ufunc__ __array_function__ __dlpack__ __dlpack_device__ __buffer__ __fspath__
    __getnewargs__ __getnewargs_ex__ __getattr__ __getattribute__ __setattr__ __del__ __set_name__ __init_subclass__
    __class_getitem__ __instancecheck__ __subclasscheck__ __subclasshook__ __mro_entries__ __prepare__ __dict__
    __class__ __wrapped__ __array_priority__ __array_wrap__ __array_finalize__ __dataclass_fields__""".split()

#: Ways to put an attribute `NAME` on something that is then in `x`.
PLACES = [
    "from types import SimpleNamespace\nx = SimpleNamespace(**{'NAME': 1})",
    "class A: pass\nx = A()\nsetattr(x, 'NAME', 1)",
    "class A: pass\nsetattr(A, 'NAME', 1)\nx = A()",
    "class A:\n    NAME = 1\nx = A()",
    "class A:\n    def NAME(self, *a): return 1\nx = A()",
    "class A:\n    __slots__ = ('NAME',)\nx = A()",
    "from collections import namedtuple\nx = namedtuple('A', ['NAME'])(1)",
    "from collections import namedtuple\nx = namedtuple('NAME', ['a'])(1)",
    "from enum import Enum\nclass A(Enum):\n    NAME = 1\nx = A",
    "from enum import Enum\nx = Enum('A', {'NAME': 1})",
    "from enum import Enum\nclass A(Enum):\n    B = 'NAME'\nx = A('NAME')\nsetattr(x, 'NAME', 1)",
    "import dataclasses\nx = dataclasses.make_dataclass('A', ['NAME'])",
    "import dataclasses\n@dataclasses.dataclass\nclass A:\n    NAME: int = 1\nx = A()",
    "import dataclasses\n@dataclasses.dataclass\nclass A:\n    b: int = 1\nx = dataclasses.replace(A(), **{'NAME': 1})",
    "x = type('A', (), {'NAME': 1})()",
    "x = lambda: 0\nsetattr(x, 'NAME', 1)",
    "x = ValueError()\nsetattr(x, 'NAME', 1)",
    "import functools\nclass A:\n    NAME = functools.cached_property(lambda self: 1)\nx = A()",
    "import functools\nx = functools.partial(print)\nsetattr(x, 'NAME', 1)",
    "import functools\ndef f(): pass\nf.NAME = 1",
    "class A: pass\nvars(A())['NAME'] = 1",
    "class A: pass\nA().__dict__['NAME'] = 1",
    "class A: pass\nx = A()\nx.__dict__ = {'NAME': 1}",
    "import json, types\nN = types.SimpleNamespace\nx = json.loads('{\"NAME\": 1}', object_hook=lambda d: N(**d))",
    "import copy\nfrom types import SimpleNamespace\nx = copy.copy(SimpleNamespace(**{'NAME': 1}))",
    "class A: pass\nx = A()\nfor x.NAME in (1,): pass",
    "class A: pass\nx = A()\nwith open('a') as x.NAME: pass",
    "class A: pass\nx = A()\nx.NAME, y = 1, 2",
    "class A:\n    for NAME in (1,): pass\nx = A()",
    "class A:\n    import math as NAME\nx = A()",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ASKED_BY_C)
def test_no_name_that_c_code_asks_for_is_put_anywhere(place: str, name: str) -> None:
    """Only the body of a class that the hook has seen may give such names, and only those that it allows."""
    script = place.replace("NAME", name)
    try:
        ast.parse(script)
    except SyntaxError:
        return
    try:
        ran = run(script)
    except Exception:
        return
    value = ran["x"]
    held = getattr(value, "__dict__", {})
    assert name not in held
    assert not (isinstance(value, type) and name in vars(value) and vars(value)[name] == 1)


def test_a_copy_asks_neither_the_instance_nor_its_attributes() -> None:
    ran = run(
        "import copy\nfrom types import SimpleNamespace\n"
        "a = SimpleNamespace(b=[1])\nc, d = copy.copy(a), copy.deepcopy(a)\n"
        "same = (c == a, c is a, c.b is a.b, d.b is a.b, d.b)\n"
        "class L(list): pass\nl = L([1]); l.x = 2\nm = copy.copy(l)\nn = (list(m), m.x, type(m) is L)\n"
        "class S:\n    __slots__ = ('q', 'r')\ns = S(); s.q = 3\nt = copy.copy(s).q\n"
        "class E(ValueError):\n    def __init__(self, a, b):\n        super().__init__(a)\n        self.b = b\n"
        "e = copy.copy(E(1, 2)); f = (e.args, e.b)\n"
    )
    assert ran["same"] == (True, False, True, False, [1])
    assert ran["n"] == ([1], 2, True)
    assert (ran["t"], ran["f"]) == (3, ((1,), 2))


def test_the_first_break_out_is_refused_where_it_names_what_c_code_asks_for() -> None:
    error = refusal("from types import SimpleNamespace as N\nN(**{'__reduce_ex__': lambda p: 1})")
    assert str(error) == (
        "attribute '__reduce_ex__' is not available: Python's internals are out of a script's reach"
    )
