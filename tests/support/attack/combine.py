# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes scripts from the tables: the first ones cover each row, all others are random."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from support.attack import grammar
from support.attack.tables import ANSWERS, ASKS, EFFECTS, PLACES, WAYS

__all__ = ("MODULES", "TABLES", "Script", "make", "needed")

TABLES: Final[dict[str, Sequence[str]]] = {
    "way": tuple(WAYS),
    "place": tuple(PLACES),
    "ask": tuple(ASKS),
    "effect": tuple(EFFECTS),
    "grammar": tuple(grammar.RULES["statement"]),
}
"""Names of the rows, by table."""
MODULES: Final = (
    "abc argparse array bisect bmesh bpy collections colorsys contextlib copy dataclasses datetime enum fractions"
    " functools hashlib heapq itertools json math mathutils numpy operator os pathlib random re statistics string"
    " struct types typing"
).split()
_ASKS_MOST: Final = 5
_NAMES_MOST: Final = 3
_CALLS_MOST: Final = 4
_MEMBER: Final = re.compile(r"    (def )?@NAME@\b|    (def )?@WIDE@\b|    @NAME@ =")
_FULL_WIDTH: Final = 0xFF41 - ord("a")

_PRELUDE: Final = """
LOG, COUNT, DATA = [], [], [1.0, 2.0, 3.0]
class Own:
    def __init__(self, *a, **k): self.a = a
    def method(self, *a, **k): return 1
class OwnList(list): pass
class OwnDict(dict): pass
class OwnError(ValueError): pass
class OwnSlots: __slots__ = ("x",)
class Held:
    def __enter__(self): return E
    def __exit__(self, *a): return True
@dataclasses.dataclass
class Data:
    a: int
    b: int
class Kind(enum.IntEnum):
    ONE = 1
SCENE, OB, MESH = bpy.context.scene, bpy.context.object, bpy.data.meshes.new("m")
BM, ARRAY, VECTOR = bmesh.new(), numpy.arange(6.0), mathutils.Vector((1, 2, 3))
bmesh.ops.create_cube(BM)
BM.verts.ensure_lookup_table()
GUARDED = bpy.ops.object.select_all
X = None
def STOP(): raise IndexError
def properties():
    SCENE["group"] = {"a": 1, "b": [1.0, 2.0]}
    return SCENE["group"]
def match_own(v):
    match v:
        case Own(): return v.a
        case {"a": x}: return x
        case [x, *_]: return x
def raise_own(v):
    try: raise v from v
    except v: pass
def with_own(v):
    with v as LOG[:]: pass
def delete_item(v): del v[0]
def setitem(v, key, new): v[key] = new
def iadd(v, new): v += new
def override(v):
    with bpy.context.temp_override(object=v, selected_objects=v): bpy.ops.object.select_all()
def setresult(v):
    global result
    result = v
"""
_WHERE_NAMED: Final = {
    "OwnFloat": "class OwnFloat(float): pass\n",
    "OwnTuple": "class OwnTuple(tuple): pass\n",
    "OwnText": "class OwnText(str): pass\n",
    "Lying": (
        "class Lying(str):\n    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"
        "    def __len__(self): return 1\n"
    ),
}
"""Classes that a script only has if it names them, since the sandbox may refuse them."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script, its seed and number, and its rows by table."""

    code: str
    seed: int
    number: int
    rows: dict[str, tuple[str, ...]]


def needed() -> int:
    """Return how many scripts, from number 0 on, have each row of the tables at least once."""
    return 2 * max(map(len, TABLES.values()))


def make(seed: int, number: int) -> Script:
    """Make one script; the same seed and number make the same script. Odd numbers use the grammar."""
    chance = random.Random(f"{seed}/{number}")
    turn, is_grammar = divmod(number, 2)
    if is_grammar:
        code, rows = grammar.script(chance, turn)
        return Script(_with_imports(code), seed, number, {"grammar": rows})
    picked = {table: rows[turn % len(rows)] for table, rows in TABLES.items()}
    if number >= needed():
        picked = {table: chance.choice(rows) for table, rows in TABLES.items()}
    first = ASKS[picked["ask"]]
    known = first.names.split()
    names = chance.sample(known, min(len(known), chance.randint(1, _NAMES_MOST)))
    related = [each for each, ask in ASKS.items() if set(names) & set(ask.names.split())]
    asks = (picked["ask"], *chance.sample(related, min(len(related), _ASKS_MOST)))
    code = _combined(picked, names, [ASKS[each].code for each in asks], chance.randint(1, _CALLS_MOST))
    rows = {table: (picked[table],) for table in ("way", "place", "effect")}
    return Script(code, seed, number, {**rows, "ask": asks})


def _combined(picked: dict[str, str], names: list[str], asks: list[str], turn: int) -> str:
    place = PLACES[picked["place"]]
    answers = "".join(f"    if name == {name!r}: return {ANSWERS[name]}\n" for name in names)
    effect = (
        "def E(name='__call__', *a, **k):\n"
        "    COUNT.append(name)\n"
        f"    if len(COUNT) == {turn}: {EFFECTS[picked['effect']]}\n"
        f"{answers}    return 1\n"
    )
    # the whole call stands in one line, whatever the effect is
    effect = effect.replace(f"== {turn}: while", f"== {turn}:\n        while").replace(
        f"== {turn}: for", f"== {turn}:\n        for"
    )
    way = "\n".join(line for each in WAYS[picked["way"]].split("\n") for line in _lines(each, names))
    way = way.replace("@BASE@", place.base).replace("@NAMES@", ", ".join(map(repr, names)))
    asked = "".join(
        f"try: {ask.replace('@NAME@', names[0])}\nexcept Exception as e: LOG.append(str(type(e)))\n"
        for ask in asks
    )
    rest = f"{effect}T = {place.make}\n{way}\n{asked}"
    own = "".join(text for name, text in _WHERE_NAMED.items() if name in rest)
    return _with_imports(f"{_PRELUDE}{own}{rest}")


def _lines(line: str, names: list[str]) -> list[str]:
    """Return a line of a class's body once for each name, any other line for the first name."""
    return [
        line.replace("@NAME@", name).replace("@WIDE@", _widened(name))
        for name in (names if _MEMBER.match(line) else names[:1])
    ]


def _widened(name: str) -> str:
    """Return the same identifier for Python, in letters of full width."""
    return "".join(chr(ord(each) + _FULL_WIDTH) if each.isalpha() else each for each in name)


def _with_imports(code: str) -> str:
    wanted = [name for name in MODULES if re.search(rf"\b{name}\.", code)]
    parts = [f"{name}.{part}" for name in wanted for part in _PARTS.get(name, ()) if f"{name}.{part}" in code]
    return f"import {', '.join([*wanted, *parts])}\n{code}"


_PARTS: Final = {
    "mathutils": ("geometry", "noise", "kdtree", "bvhtree", "interpolate"),
    "bpy_extras": (),
    "os": ("path",),
}
