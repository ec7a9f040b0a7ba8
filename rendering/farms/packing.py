# SPDX-License-Identifier: GPL-3.0-or-later
"""The confined Blender that makes a job's .blend: it packs the files that the scene uses, and renders one frame.

`prepare` starts it. It answers `packed` with the files that could not be packed, then `done` with the seconds of a
frame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import child

__all__ = ("main",)


def main(facts: dict[str, Any], answer: Callable[[Mapping[str, object]], None]) -> None:
    """Pack and render; never returns."""
    try:
        child.open_copy(facts["scene"], facts["pixels"])
        child.set_up(facts)
        answer({"packed": True, **_pack(facts["to"], facts["frame"])})
        answer(child.render(facts["picture"]))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"[:2000]})
    os._exit(0)


def _pack(to: str, frame: int) -> dict[str, Any]:
    import bpy

    notes = []
    for pack in (bpy.ops.file.pack_all, bpy.ops.file.pack_libraries):
        try:
            pack()
        except RuntimeError as error:  # if one of several files fails, the others are packed
            notes.append(str(error).strip()[:500])
    bpy.ops.file.make_paths_absolute()
    scene: Any = bpy.context.scene
    scene.frame_set(frame)
    bpy.ops.wm.save_as_mainfile(filepath=to, compress=True, relative_remap=False, check_existing=False)
    outside = sorted({path for path in bpy.utils.blend_paths(absolute=True, packed=False) if path})
    return {
        "outside": [path for path in outside if Path(path).exists()],
        "missing": [path for path in outside if not Path(path).exists()],
        "scripts": _scripts(),
        "samples": int(getattr(getattr(scene, "cycles", None), "samples", 0)),
        "notes": notes,
    }


def _scripts() -> list[str]:
    """Return what would run by itself if Blender's auto-execution were on.

    That is: registered texts, drivers with more than simple arithmetic, line styles by script.
    """
    import bpy

    found = {f"text {text.name}" for text in bpy.data.texts if text.use_module}
    for collection in bpy.data.bl_rna.properties:
        if collection.type != "COLLECTION":
            continue
        for item in getattr(bpy.data, collection.identifier):
            for owner in (item, getattr(item, "node_tree", None), getattr(item, "shape_keys", None)):
                animation = getattr(owner, "animation_data", None)
                for curve in animation.drivers if animation else ():
                    if curve.driver.type == "SCRIPTED" and not curve.driver.is_simple_expression:
                        found.add(f"driver of {item.name}")
    for scene in bpy.data.scenes:
        if any(layer.freestyle_settings.mode == "SCRIPT" for layer in scene.view_layers):
            found.add(f"line styles of {scene.name}")
    return sorted(found)
