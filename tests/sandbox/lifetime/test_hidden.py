# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script holds while modes change: it works as in plain Blender or says that it is gone, and is never empty."""

from __future__ import annotations

import faulthandler
import re
import resource
import signal
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.sandboxing.scripts import finding, result
from support.scenes import references

pytestmark = pytest.mark.usefixtures("fresh_file")

_GREASE_PENCIL = "gpencil_add" if bpy.app.version < (4, 3) else "grease_pencil_add"
#: How an object of each kind is made, and the modes that it has.
_OBJECTS = {
    "mesh": (
        "bpy.ops.mesh.primitive_cube_add()\no = bpy.context.object\no.shape_key_add(name='a')\n"
        "o.vertex_groups.new(name='g').add([0, 1], 1, 'ADD')\no.modifiers.new('b', 'BEVEL')\n",
        "EDIT SCULPT VERTEX_PAINT WEIGHT_PAINT TEXTURE_PAINT",
    ),
    "curve": (
        "bpy.ops.curve.primitive_bezier_curve_add()\nbpy.context.object.shape_key_add(name='a')\n"
        "bpy.context.object.data.splines.new('POLY')\n",
        "EDIT",
    ),
    "path": ("bpy.ops.curve.primitive_nurbs_path_add()\n", "EDIT"),
    "surface": ("bpy.ops.surface.primitive_nurbs_surface_sphere_add()\n", "EDIT"),
    "text": ("bpy.ops.object.text_add()\n", "EDIT"),
    "metaball": ("bpy.ops.object.metaball_add()\n", "EDIT"),
    "lattice": ("bpy.ops.object.add(type='LATTICE')\nbpy.context.object.shape_key_add(name='a')\n", "EDIT"),
    "armature": (
        "bpy.ops.object.armature_add()\nbpy.context.object.pose.bones[0].constraints.new('IK')\n", "EDIT POSE"
    ),
    "grease pencil": (f"bpy.ops.object.{_GREASE_PENCIL}(type='MONKEY')\n", "EDIT EDIT_GPENCIL SCULPT_GPENCIL"),
    "hair": ("bpy.ops.object.curves_random_add()\n", "EDIT SCULPT_CURVES"),
}  # fmt: skip
_CASES = [(kind, mode) for kind, (_make, modes) in _OBJECTS.items() for mode in modes.split()]
_LISTING = (
    references.GATHER
    + """
MAKE
o = bpy.context.object
def find():
    seen.clear()
    held = []
    for block in (o, o.data, getattr(o.data, "shape_keys", None)):
        if block is not None:
            gather(block, held)
    return [each for each in held if isinstance(each, bpy.types.bpy_prop_collection)]
collections = find()
def say(each):
    try:
        return [len(each), sum(1 for _item in each)]
    except ReferenceError:
        return "gone"
before = [say(each) for each in collections]
#NOTE
STEPS
if bpy.context.mode == "OBJECT" and "EDIT" not in "LEFT":
    raise RuntimeError("no such mode")
"""
)
_AGAIN = """
after = [say(each) for each in collections]
found = find()
def lives(each):
    try:
        return each in found
    except ReferenceError:
        return False
result = [before, after, [lives(each) for each in collections]]
"""
_STEPS = {
    "entered": "bpy.ops.object.mode_set(mode='MODE')\n",
    "left": "bpy.ops.object.mode_set(mode='MODE')\nbpy.ops.object.mode_set(mode='OBJECT')\n#LEFT EDIT\n",
}


_MEMORY = 4 << 30
_LONGEST_S = 2.0
"""What is asked takes milliseconds. In freed memory, Blender may go round in circles."""


def _names() -> dict[str, tuple[str, ...]]:
    """What is read of each struct: the weights of a vertex are objects of ours in the sandbox."""
    return {
        struct: tuple(name for name in names if name != "groups")
        for struct, names in references.names().items()
    }


def _listing(kind: str, mode: str, steps: str) -> str:
    code = _LISTING.replace("MAKE", _OBJECTS[kind][0]).replace("STEPS", _STEPS[steps].replace("MODE", mode))
    return code.replace('"LEFT"', '"EDIT"' if steps == "left" else '""')


def _crash_at_once() -> None:
    """Let a crash end this process at once: Blender's own handlers would write a report first."""
    for crash in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
        signal.signal(crash, signal.SIG_DFL)


def _quoted(each: Any) -> list[str]:
    """Names on the way to a collection: others than before are read in freed memory."""
    return re.findall(r"""['"]([^'"]*)['"]""", repr(each))


def _items(each: Any) -> tuple[str, list[int]]:
    """Where a collection lies, and where its items lie: those that are found anew lie in memory that is not freed."""
    return repr(each), [item.as_pointer() for item in each if isinstance(item, bpy.types.bpy_struct)]


def _found(find: Any) -> list[tuple[str, list[int]]]:
    """What a script finds when it looks again; in a fork, since looking at the layers of a mesh may make some."""
    return [_items(each) for each in find()]


def _crashed(answer: Any) -> bool:
    return isinstance(answer, fork.Died | fork.TimedOut | SystemError)


def _in_plain(code: str) -> Any:
    """What plain Blender says before and after: collections are asked in forks, which may crash."""
    faulthandler.cancel_dump_traceback_later()  # a fork of this fork would wait for its thread
    fork.overwrite_freed()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    names: dict[str, Any] = {"NAMES": _names(), "quoted": [], "note": _quoted}
    try:
        exec(code.replace("#NOTE", "quoted = [note(each) for each in collections]"), names)
    except (RuntimeError, TypeError):
        return None
    there = fork.run(_found, names["find"])
    after: list[tuple[Any, bool]] = []
    _crash_at_once()
    collections = names["collections"]
    said = fork.run_each(lambda each: (names["say"](each), _quoted(each)), collections, timeout=_LONGEST_S)
    living = [each for each, answer in zip(collections, said, strict=True) if not _crashed(answer)]
    places = iter(fork.run_each(_items, living, timeout=_LONGEST_S))
    for quoted, answer in zip(names["quoted"], said, strict=True):
        if _crashed(answer):
            after.append(("crash", False))
        elif isinstance(answer, Exception):
            raise answer
        else:
            after.append((answer[0] if answer[1] == quoted else "garbage", next(places) in there))
    return names["before"], after


def _in_sandbox(code: str) -> Any:
    fork.overwrite_freed()
    execute._rate.clear()
    with finding({"NAMES": _names()}):
        return result(f"{code}{_AGAIN}")


@pytest.mark.parametrize("steps", _STEPS)
@pytest.mark.parametrize(("kind", "mode"), _CASES)
def test_collections_work_as_in_plain_blender_or_say_that_they_are_gone(
    kind: str, mode: str, steps: str
) -> None:
    code = _listing(kind, mode, steps)
    references.names()
    plain = fork.run(_in_plain, code)
    if plain is None:
        pytest.skip(f"this Blender has no mode {mode} for a {kind}")
    before, after, kept = fork.run(_in_sandbox, code)
    assert before == plain[0]
    for was, (there, found), here, lives in zip(plain[0], plain[1], after, kept, strict=True):
        # Freed memory may read as before, by chance: `found` and `lives` say that it was not freed.
        good = found and there == was and there != [0, 0] and steps == "entered"
        right = (
            here == there
            if good
            else there == "garbage" or here in ("gone", there) or (lives and here == was)
        )
        assert right, (was, there, found, here, lives)


_CURVE = "bpy.ops.curve.primitive_bezier_curve_add()\no = bpy.context.object\ns = o.data.splines[0]\n"
_HELD = f"{_CURVE}p = s.bezier_points\nx = p[1]\nbpy.ops.object.mode_set(mode='EDIT')\n"


def test_points_of_a_spline_stay_good_in_edit_mode() -> None:
    assert result(
        f"{_HELD}bpy.ops.curve.select_all(action='SELECT')\nbpy.ops.curve.subdivide(number_cuts=3)\n"
        "bpy.ops.transform.translate(value=(0, 0, 5))\nx.handle_left_type = 'VECTOR'\n"
        "result = [len(p), [q.co.x for q in p], x.co.z, len(o.data.splines[0].bezier_points), s.resolution_u]"
    ) == [2, [-1.0, 1.0], 0.0, 5, 12]


@pytest.mark.parametrize(
    "free",
    [
        "bpy.ops.object.mode_set(mode='OBJECT')",
        "bpy.ops.object.editmode_toggle()",
        "o.update_from_editmode()",
        "s.type = 'POLY'",
        "bpy.data.objects.remove(o)\nbpy.data.curves.remove(bpy.data.curves[0])",
        "o.data.splines.clear()",
        "bpy.ops.object.mode_set(mode='OBJECT')\nbpy.ops.object.mode_set(mode='EDIT')",
    ],
)
@pytest.mark.parametrize("use", ["len(p)", "x.co", "x.co = 1, 2, 3", "p.add(1)", "s.use_cyclic_u = True"])
def test_what_edit_mode_hides_goes_with_what_may_free_it(free: str, use: str) -> None:
    def run() -> str:
        fork.overwrite_freed()
        try:
            result(f"{_HELD}{free}\n{use}")
        except HandlerError as error:
            return f"{type(error.original).__name__}: {error}"
        return "nothing"

    assert "ReferenceError" in fork.run(run)
