# SPDX-License-Identifier: GPL-3.0-or-later
"""Each form of the grammar with several operands: what one gives is seen, and cut off, while another one removes it.

The forms are texts; which there have to be, and which operands each has, is read from the signatures of the classes of
`ast`.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import ScriptRefused, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing.scripts import finding

pytestmark = pytest.mark.usefixtures("fresh_file")

#: Texts of each form; an operand is between « and », with what stands there if it is to do nothing.
FORMS = {
    "AnnAssign": ["«{}»[«1»]: «int» = «1»"],
    "Assert": ["assert «0», «1»"],
    "Assign": ["«{}»[«1»] = «{}»[«1»] = «1»", "«{}»[«1»], *«{}»[«1»] = «1», «1»"],
    "AugAssign": ["«[1, 2]»[«1»] += «1»"],
    "BinOp": ["«1» + «1» * «1»", "«2» ** «1» - «1» @ «1»"],
    "BoolOp": ["«1» and «1» and «1»", "«0» or «0» or «1»"],
    "Call": ["«use»(«1», «1», *«[1]», k=«1», **«{}», l=«1»)", "«[1]».index(«1», «0»)", "max(«1», «1», key=«use»)"],
    "ClassDef": ["@«use»\n@«use»\nclass C(«object»):\n    x = «1», «1»"],
    "Compare": ["«1» < «2» in «[2]»", "«1» == «1» != «1»", "«1» is «1» not in «[1]»"],
    "Delete": ["del «[1, 2]»[«0»], «[1, 2]»[«0»]"],
    "Dict": ["{«1»: «1», **«{}», «2»: «1»}"],
    "DictComp": ["{«1»: «1» for x in «[1]» if «1» for y in «[1]» if «1»}"],
    "For": ["for «{}»[«1»] in «[1]»:\n    «1»\nelse:\n    «1»"],
    "FormattedValue": ['f"{«1»:{«1»}}"'],
    "FunctionDef": ["@«use»\n@«use»\ndef f(a: «int» = «1», b=«1», *, c=«1», d=«1») -> «int»:\n    pass"],
    "GeneratorExp": ["sum((«1», «1»)[0] for x in «[1]» if «1» for y in «[1]» if «1»)"],
    "If": ["if «0»:\n    «1»\nelif «0»:\n    «1»\nelse:\n    «1»"],
    "IfExp": ["«1» if «1» else «1»", "«1» if «0» else «1»"],
    "JoinedStr": ['f"{«1»}{«1»!r}{«1»:{«1»}}"'],
    "Lambda": ["(lambda a=«1», b=«1», *, c=«1», d=«1»: («1», «1»))()"],
    "List": ["[«1», «1», *«[1]», «1»]"],
    "ListComp": ["[(«1», «1») for x in «[1]» if «1» for y in «[1]» if «1»]"],
    "Match": ["match «1»:\n    case y if «0»:\n        «1»\n    case z if «1»:\n        «1»"],
    "Raise": ["raise «ValueError()» from «None»"],
    "Return": ["return «1», «1»"],
    "Set": ["{«1», «2», *«[1]»}"],
    "SetComp": ["{(«1», «1») for x in «[1]» if «1» for y in «[1]» if «1»}"],
    "Slice": ["«[1, 2]»[«0»:«1»:«1»]"],
    "Subscript": ["«{1: 1}»[«1»]", "«[1, 2]»[«0»:«1»]", "«{}»[«1»] = «1»"],
    "Try": [
        "try:\n    1 / «0»\nexcept («ZeroDivisionError», «TypeError»):\n    «1»\nelse:\n    «1»\nfinally:\n    «1»"
    ],
    "Tuple": ["(«1», «1», *«[1]», «1»)"],
    "While": ["while «0»:\n    «1»\n    break\nelse:\n    «1»"],
    "With": [
        "with «contextlib.nullcontext(1)» as «{}»[«1»], «contextlib.nullcontext(1)» as «{}»[«1»]:\n    «1»"
    ],
    "Yield": ["x = «1», (yield «1»), «1»"],
    "YieldFrom": ["x = «1», (yield from «[1]»), «1»"],
    "comprehension": ["[1 for x in «[1]» if «1» if «1»]"],
    "keyword": ["use(a=«1», b=«1»)"],
    "match_case": ["match «1»:\n    case y if «1»:\n        «1»"],
    "withitem": ["with «contextlib.nullcontext(1)» as «{}»[«1»]:\n    «1»"],
}  # fmt: skip
#: Forms that no script may have.
REFUSED = {
    "AsyncFor": "async def f():\n    async for x in y: pass",
    "AsyncFunctionDef": "async def f(a=1, b=2): pass",
    "AsyncWith": "async def f():\n    async with x as y: pass",
    "TryStar": "try:\n    pass\nexcept* ValueError:\n    pass",
    "TypeAlias": "type X = int",
}
_HOLE = re.compile("«(.*?)»")
_SIGNATURE = re.compile(r"^\w+\((.*)\)$")
#: How many operands a field has at least that is no expression itself.
_WITHIN = {
    "keyword": 1,
    "arguments": 2,
    "comprehension": 1,
    "withitem": 2,
    "match_case": 1,
    "excepthandler": 1,
}
#: Fields that are no operands: what runs one after the other, names, and what the language refuses.
_NO_OPERANDS = {
    "IfExp.body", "IfExp.orelse", "NamedExpr.target", "comprehension.target", "ClassDef.keywords", "Try.handlers"
}  # fmt: skip

_BEFORE = """
import contextlib, bpy
bpy.ops.mesh.primitive_cube_add()
bpy.context.object.name = 'P'
bpy.context.object.modifiers.new('m', 'BEVEL')
def use(c=1, *_more, **_named): return c
def free():
    bpy.data.objects.remove(bpy.data.objects['P'])
    look()
    return 1
"""


def _fields(kind: type[ast.AST]) -> list[tuple[str, str, str]]:
    """The type, "*" or "?", and the name of each field, as the class's docstring has them."""
    found = _SIGNATURE.match((kind.__doc__ or "").partition("\n")[0])
    parts = [part.split() for part in found[1].split(", ")] if found else []
    return [(each[0].rstrip("*?"), each[0][-1], each[1]) for each in parts]


def _operands(kind: type[ast.AST]) -> dict[str, int]:
    """How many operands each field of a node may have that has any; many are counted as two."""
    found = {}
    for of, many, name in _fields(kind):
        count = 1 if of == "expr" else _WITHIN.get(of, 0)
        if count and f"{kind.__name__}.{name}" not in _NO_OPERANDS:
            found[name] = count * (2 if many == "*" else 1)
    return found


def _nodes() -> dict[str, type[ast.AST]]:
    """The classes of the grammar whose nodes may have several operands."""
    kinds = [each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.AST)]
    concrete = [each for each in kinds if _fields(each) and each.__base__ is not ast.pattern]
    return {each.__name__: each for each in concrete if sum(_operands(each).values()) > 1}


def _texts(form: str, places: dict[int, str]) -> str:
    """The form with something in the place of some of its operands."""
    number = iter(range(len(_HOLE.findall(form))))
    return _HOLE.sub(lambda hole: places.get(next(number), f"{hole[1]}"), form)


def _numbered(form: str) -> str:
    return _texts(form, {at: f"hole_{at}" for at in range(len(_HOLE.findall(form)))})


def _has_hole(node: Any) -> bool:
    parts = node if isinstance(node, list) else [node]
    inner = [each for part in parts if part is not None for each in ast.walk(part)]
    return any(isinstance(each, ast.Name) and each.id.startswith("hole_") for each in inner)


def test_each_form_with_several_operands_is_tried_or_refused() -> None:
    known = (
        FORMS.keys()
        | REFUSED.keys()
        | {"arguments", "Expression", "FunctionType", "MatchClass", "MatchMapping"}
        | {"TypeVar"}  # from Python 3.13 on, of functions with type parameters, which are refused
    )
    assert _nodes().keys() <= known


@pytest.mark.parametrize("name", FORMS)
def test_the_texts_of_a_form_have_each_of_its_operands(name: str) -> None:
    kind: type[ast.AST] = getattr(ast, name)
    found = [
        node
        for text in FORMS[name]
        for node in ast.walk(ast.parse(textwrap.indent(_numbered(text), " ").join(["def f():\n", ""])))
        if isinstance(node, kind)
    ]
    for field in _operands(kind):
        assert any(_has_hole(getattr(node, field)) for node in found), field


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_that_is_not_tried_is_refused(name: str) -> None:
    with pytest.raises(ScriptRefused):
        compile_script(REFUSED[name])


def _scripts(form: str) -> Iterator[str]:
    """The form with each pair of its operands: one gives a collection, the other removes what that belongs to.

    They stand in a function and in the script itself, in turn.
    """
    usual = _HOLE.findall(form)
    for number, (given, frees) in enumerate(permutations(range(len(usual)), 2)):
        places = {given: "note(bpy.data.objects['P'].modifiers)", frees: f"(free(), {usual[frees]})[1]"}
        text = _texts(form, places)
        if number % 2 and "yield" not in text and "return" not in text:
            yield text
        else:
            run = "list(f())" if "yield" in text else "f()"
            yield "def f():\n" + textwrap.indent(text, "    ") + "\n" + run


def _seen(script: str) -> tuple[int, int, bool]:
    """How many values were held as their object went, how many can be used then, and whether the run was stopped."""
    noted: list[Any] = []
    alive = [0, 0]

    def note(value: Any) -> Any:
        noted.append(value)
        return value

    def look() -> None:
        for value in noted:
            if sys.getrefcount(value) > 3:  # the list, this variable, and the argument
                alive[0] += 1
                with contextlib.suppress(ReferenceError):
                    len(value)
                    alive[1] += 1

    bpy.ops.wm.read_homefile(use_factory_startup=True)
    stopped = False
    try:
        with finding({"note": note.__call__, "look": look.__call__}):
            execute.execute_blender_code({"code": _BEFORE + script})
    except BridgeError as error:
        stopped = "what the script" in str(error)
    finally:
        execute._rate.clear()
    return alive[0], alive[1], stopped


#: Forms whose operands are over, each, before the next one is evaluated.
_HOLDING_NOTHING = {"Assert", "BoolOp", "If", "IfExp", "While", "comprehension"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FORMS)
def test_what_an_operand_gives_is_cut_off_while_another_removes_it(name: str) -> None:
    def tried() -> list[tuple[str, tuple[int, int, bool]]]:
        fork.overwrite_freed()
        return [(script, _seen(script)) for text in FORMS[name] for script in _scripts(text)]

    found = fork.run(tried, timeout=120)
    assert [script for script, (_held, usable, stopped) in found if usable and not stopped] == []
    assert (name in _HOLDING_NOTHING) or any(held for _script, (held, _usable, _stopped) in found)
