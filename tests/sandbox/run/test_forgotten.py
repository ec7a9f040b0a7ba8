# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script makes is freed when its run ends, whatever held it: Python may collect garbage only much later."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError, HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.guard.guards import Guard
from bl_ext.user_default.mcp_bridge.sandbox.guard.meter import Interrupted
from bl_ext.user_default.mcp_bridge.sandbox.language.hooks import RUNNING, STOP
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

MARK = "made by a script"
#: Scripts that hold a list with `MARK` in some way, each under the line that names the way.
_SCRIPTS = """
## a variable
kept = [MARK]
## a list in itself
kept = [MARK]
kept.append(kept)
## a default
def use(kept=[MARK]):
    return kept
## a closure
def outer():
    kept = [MARK]
    return lambda: kept
use = outer()
## a function that calls itself
def outer():
    kept = [MARK]
    def inner(n):
        return inner(n - 1) if n else kept
    return inner
use = outer()
use(2)
## a global of a function
kept = [MARK]
def use():
    return kept
use()
## a class
class Owner:
    kept = [MARK]
owner = Owner()
## an instance
class Owner:
    def __init__(self):
        self.kept = [MARK]
owner = Owner()
## instances that know each other
class Owner:
    pass
a, b = Owner(), Owner()
a.kept = [MARK]
a.other, b.other = b, a
## a subclass of a list
class Items(list):
    pass
items = Items([[MARK]])
## a hashed instance
class Key:
    def __hash__(self):
        return 1
keys = {Key(): [MARK]}
## a generator that waits
def items():
    kept = [MARK]
    yield kept
    yield 2
waiting = items()
next(waiting)
## a generator with a finally
def items():
    kept = [MARK]
    try:
        yield kept
    finally:
        kept.append(1)
waiting = items()
next(waiting)
## a generator expression
kept = [MARK]
waiting = (kept for _ in range(3))
next(waiting)
## an exception
def fail():
    kept = [MARK]
    raise ValueError(1)
try:
    fail()
except ValueError as error:
    caught = error
## an exception of the script's
class Wrong(Exception):
    pass
try:
    raise Wrong([MARK])
except Wrong as error:
    caught = error
## a partial
import functools
use = functools.partial(len, [MARK])
## a cache
import functools
@functools.lru_cache
def use(n):
    return [MARK]
use(1)
## a data class
from dataclasses import dataclass, field
@dataclass
class Owner:
    kept: list = field(default_factory=lambda: [MARK])
owner = Owner()
## a named tuple
from collections import namedtuple
Pair = namedtuple('Pair', 'a b')
pair = Pair([MARK], 1)
## a default dict
from collections import defaultdict
kept = defaultdict(lambda: [MARK])
kept[1]
## an array
import numpy as np
kept = np.zeros(3)
items = [kept, [MARK]]
## the result
result = [MARK]
## an operator
import bpy
class EXAMPLE_OT_forgotten(bpy.types.Operator):
    bl_idname = 'example.forgotten'
    bl_label = 'x'
    kept = [MARK]
    def execute(self, context):
        return {'FINISHED'}
bpy.utils.register_class(EXAMPLE_OT_forgotten)
bpy.ops.example.forgotten()
## Blender's data
import bpy
objects = [bpy.data.objects, bpy.context, bpy.data.objects['Cube'].location, [MARK]]
## a bmesh
import bmesh
mesh = bmesh.new()
kept = [mesh, [MARK]]
"""
FORMS = {
    name: code.replace("MARK", repr(MARK))
    for name, _, code in (
        part.partition("\n") for part in _SCRIPTS.strip().removeprefix("## ").split("\n## ")
    )
}
#: How a script may end, besides by itself, and the error that tells so.
ENDS: dict[str, tuple[str, type[BridgeError] | None]] = {
    "by itself": ("", None),
    "an error": ("\nraise ValueError('x')", HandlerError),
    "an error in a function": ("\ndef fail(a):\n    raise KeyError(a)\nfail(1)", HandlerError),
    "a refusal": ("\nimport bpy\nbpy.context.window_manager.name = 'x'", PolicyError),
    "a limit": ("\nresult = 'x' * 10 ** 9", LimitExceeded),
    "an exit": ("\nimport sys\nsys.exit(1)", HandlerError),
    "a good exit": ("\nexit()", None),
}


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    execute._rate.clear()
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    execute._rate.clear()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_kept(form: str, end: str) -> None:
    ending, error = ENDS[end]
    with pytest.raises(error) if error else nullcontext():
        execute.execute_blender_code({"code": FORMS[form] + ending})
    assert sum(type(each) is list and each[:1] == [MARK] for each in gc.get_objects()) == 0


def test_a_function_that_is_still_there_can_only_stop() -> None:
    """Without its builtins in its globals, Python would give a new function its own ones."""
    found: list[types.FunctionType] = []
    end = Guard.end

    def ending(guard: Guard) -> None:
        found.extend(
            each
            for each in gc.get_objects()
            if type(each) is types.FunctionType and each.__code__.co_filename == execute.FILENAME
        )
        end(guard)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Guard, "end", ending)
        execute.execute_blender_code({"code": "def use():\n    return 1\nclass Owner:\n    use = use"})
    assert found
    for function in found:
        assert set(function.__globals__) == {"__builtins__", RUNNING, STOP}
        with pytest.raises(Interrupted):
            function()
