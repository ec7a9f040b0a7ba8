# SPDX-License-Identifier: GPL-3.0-or-later
"""Editors that no window shows: a walk over all that a script may read of them, and call."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.blender import windows
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result
from support.scenes.references import names

pytestmark = pytest.mark.usefixtures("fresh_file")

_WALK = """
seen, done, failed = set(), [], set()
waiting = [*bpy.data.screens, *bpy.data.workspaces, *bpy.data.window_managers]
while waiting:
    value = waiting.pop()
    struct = value.bl_rna.identifier
    if (value, struct) in seen:
        continue
    seen.add((value, struct))
    for name in NAMES.get(struct, ()):
        done.append(struct)
        try:
            found = getattr(value, name)
        except (AttributeError, RuntimeError) as error:
            failed.add(f"{struct}.{name}: {error}")
            continue
        parts = found.values() if isinstance(found, bpy.types.bpy_prop_collection) else [found]
        waiting += [p for p in parts if isinstance(p, bpy.types.bpy_struct) and not isinstance(p, bpy.types.ID)]
    for name in FUNCTIONS.get(struct, ()):
        try:
            getattr(value, name)()
        except (TypeError, RuntimeError) as error:
            failed.add(f"{struct}.{name}(): {error}")
result = (sorted(failed), sorted(set(done)))
"""
_OF_WINDOWS = (
    "Area",
    "Region",
    "Screen",
    "Space",
    "View3D",
    "Window",
    "WorkSpace",
    "wm",
    "File",
    "Image",
    "KeyC",
)
_SHOWN = "no window shows this editor, so that it has no such state"


def _functions() -> dict[str, tuple[str, ...]]:
    """By struct the functions that a script may call with nothing given, but those that every data-block has."""
    found = {}
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        if rna is not None and rna.identifier == name:
            found[name] = tuple(
                f.identifier
                for f in rna.functions
                if f.identifier in policy("blender").callable(name)
                and not any(p.is_required and not p.is_output for p in f.parameters)
            )
    return {name: each for name, each in found.items() if each and name != "ID"}


def test_nothing_that_can_be_read_of_an_editor_needs_its_window() -> None:
    """In a fork, since what breaks the rule takes Blender down."""
    listed = {struct: each for struct, each in names().items() if struct.startswith(_OF_WINDOWS)}
    given = f"NAMES = {listed!r}\nFUNCTIONS = {_functions()!r}\n"
    failed, structs = fork.run(result, given + _WALK)
    assert {"SpaceProperties", "SpaceView3D", "Region", "RegionView3D", "Area", "Screen"} <= set(structs)
    needing = sorted(each.partition(":")[0] for each in failed if _SHOWN in each)
    assert needing == ["RegionView3D.update()", *sorted(windows.READERS)]


@pytest.mark.parametrize(
    ("kind", "code"),
    [("PROPERTIES", "space.search_filter"), ("VIEW_3D", "space.region_3d.update()")],
)
def test_script_is_told(kind: str, code: str) -> None:
    find = f"space = next(s for x in bpy.data.screens for a in x.areas for s in a.spaces if s.type == {kind!r})\n"
    with pytest.raises(HandlerError, match=f"RuntimeError: .*{_SHOWN}"):
        result(find + code)
