# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports objects of the open scene to a file, and restores selection and mode. Main thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from ..base.errors import ExternalServiceError, InvalidParamsError
from ..sandbox.run.undo import Modes
from ..scene.describe.overview import find
from ..scene.override import Place

__all__ = ("SUFFIXES", "chosen", "export", "in_window")

_ops: Any = bpy.ops
#: Suffix -> the operator's name, and its arguments for "selected objects only, with image files beside the file".
_EXPORTERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    ".glb": ("export_scene.gltf", {"export_format": "GLB", "use_selection": True}),
    ".gltf": ("export_scene.gltf", {"export_format": "GLTF_SEPARATE", "use_selection": True}),
    ".fbx": ("export_scene.fbx", {"use_selection": True, "path_mode": "COPY", "embed_textures": True}),
    ".obj": ("wm.obj_export", {"export_selected_objects": True, "path_mode": "COPY"}),
    ".usd": ("wm.usd_export", {"selected_objects_only": True}),
    ".usda": ("wm.usd_export", {"selected_objects_only": True}),
    ".usdc": ("wm.usd_export", {"selected_objects_only": True}),
    ".stl": ("wm.stl_export", {"export_selected_objects": True}),
    ".ply": ("wm.ply_export", {"export_selected_objects": True}),
}
#: Suffix -> the exporter's argument for writing animation.
_ANIMATED: Mapping[str, str] = {
    "export_scene.gltf": "export_animations",
    "export_scene.fbx": "bake_anim",
    "wm.usd_export": "export_animation",
}
SUFFIXES = frozenset(_EXPORTERS)


def chosen(
    *, objects: Sequence[str] | None = None, collection: str | None = None, selected_only: bool = False
) -> list[Any]:
    """Return the objects to export: the named ones, a collection's, the selected ones, or else all visible ones.

    Raises InvalidParamsError if there are none, or if one cannot be selected: exporters need a selection.
    """
    if sum((objects is not None, collection is not None, selected_only)) > 1:
        raise InvalidParamsError("Give one of objects, collection and selected_only, not several.")
    layer: Any = bpy.context.view_layer
    if objects is not None:
        found = [find(bpy.data.objects, name, "object") for name in objects]
    elif collection is not None:
        found = list(find(bpy.data.collections, collection, "collection").all_objects)
    elif selected_only:
        found = list(layer.objects.selected)
    else:
        found = [item for item in layer.objects if item.visible_get()]
    if not found:
        raise InvalidParamsError(
            "There is nothing to export: no object fits the arguments. Name objects, or a collection that has some."
        )
    hidden = [item.name for item in found if item.name not in layer.objects or not item.visible_get()]
    if hidden:
        raise InvalidParamsError(
            f"Hidden objects are not exported: {', '.join(hidden[:5])}. Show them first."
        )
    return found


def export(to: Path, items: Sequence[Any], *, animation: bool = True) -> None:
    """Export `items` to `to`, in the format of its suffix; files that belong to it are written beside it.

    Raises ExternalServiceError with the reason if there is no file.
    """
    name, arguments = _EXPORTERS[to.suffix.lower()]
    operator = _operator(name)
    asked = dict(arguments) | ({_ANIMATED[name]: animation} if name in _ANIMATED else {})
    if "convert_world_material" in operator.get_rna_type().properties:
        asked["convert_world_material"] = False  # it would also write an image of the world
    with _selected(items), in_window():
        try:
            operator(filepath=str(to), check_existing=False, **asked)
        except RuntimeError as error:
            raise ExternalServiceError(f"Blender could not export: {error}") from None
    if not to.is_file():
        raise ExternalServiceError("Blender wrote no file, and did not say why.")


def _operator(name: str) -> Any:
    module, _, function = name.partition(".")
    operator = getattr(getattr(_ops, module), function)
    try:
        operator.get_rna_type()
    except KeyError:
        raise ExternalServiceError(
            f"The exporter ({name}) is switched off: ask the user to enable its add-on in Blender's preferences."
        ) from None
    return operator


@contextmanager
def in_window() -> Iterator[None]:
    """Use the context of the first window: code that a timer runs has none."""
    manager: Any = bpy.context.window_manager
    windows = manager.windows
    if not windows:
        yield
        return
    with Place(window=windows[0]):
        yield


@contextmanager
def _selected(items: Sequence[Any]) -> Iterator[None]:
    """Select exactly these objects, in object mode, inside this context."""
    modes = Modes.leave()
    layer: Any = bpy.context.view_layer
    before, active = list(layer.objects.selected), layer.objects.active
    try:
        for item in before:
            item.select_set(False)
        for item in items:
            item.select_set(True)
        unselected = [item.name for item in items if not item.select_get()]
        if unselected:
            raise InvalidParamsError(
                f"{', '.join(unselected[:5])} cannot be selected, which exporting needs: ask the user to allow it."
            )
        layer.objects.active = items[0]
        yield
    finally:
        for item in layer.objects.selected:
            item.select_set(False)
        for item in before:
            item.select_set(True)
        layer.objects.active = active
        modes.enter()
