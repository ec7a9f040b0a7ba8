# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers references to all parts of a scene that a script can reach."""

from __future__ import annotations

import functools
from typing import Any

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

__all__ = ("GATHER", "names")

GATHER = """
import bpy

seen = set()

def is_part(value):
    return isinstance(value, bpy.types.bpy_struct) and not isinstance(value, bpy.types.ID)

def names(value):
    name = getattr(value, "name", "")
    hidden = name[:1] == "." or name in ("curve_type", "nurbs_order", "resolution")
    return [name for name in NAMES.get(value.bl_rna.identifier, ()) if not (hidden and name == "data")]

def gather(block, held):
    waiting = [block]
    while waiting:
        value = waiting.pop()
        for name in names(value):
            found = getattr(value, name)
            if found is None or isinstance(found, (str, int, float, bool, tuple, set)):
                continue
            held.append(found)
            items = [found]
            if isinstance(found, bpy.types.bpy_prop_collection):
                items = [found[i] for i in sorted({0, 1, len(found) // 2, len(found) - 1}) if 0 <= i < len(found)]
            for each in items:
                if is_part(each) and (each, type(each)) not in seen:
                    seen.add((each, type(each)))
                    held.append(each)
                    waiting.append(each)
"""
"""A script's `gather(block, held)`: appends to `held` what it reads of a data-block; needs the global `NAMES`."""

#: Reading `palette` crashes Blender; items of a depsgraph live for one turn.
_LEFT_OUT = {"rna_type", "palette", "object_instances", "depsgraph", "uv_layer_clone", "uv_layer_stencil"}


@functools.cache
def names() -> dict[str, tuple[str, ...]]:
    """Return what a script may read of each struct, without data-blocks. Call it before a fork, which then has it."""
    rules = policy("blender")
    found = {}
    for each in dir(bpy.types):
        rna = getattr(getattr(bpy.types, each), "bl_rna", None)
        if rna is None or any(part in each for part in ("_OT_", "_MT_", "_PT_", "_UL_", "_HT_")):
            continue
        allowed: set[str] = set()
        base = rna
        while base is not None:
            allowed |= rules.readable(base.identifier)
            base = base.base
        allowed -= _LEFT_OUT
        found[rna.identifier] = tuple(
            prop.identifier for prop in rna.properties if prop.identifier in allowed and not _is_block(prop)
        )
    return found


def _is_block(prop: Any) -> bool:
    kind = getattr(bpy.types, prop.fixed_type.identifier, object) if prop.type == "POINTER" else object
    return issubclass(kind, bpy.types.ID)
