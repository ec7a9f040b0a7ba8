# SPDX-License-Identifier: GPL-3.0-or-later
"""Import an asset that the panel shows, and give one of the file another resolution."""

# No `from __future__ import annotations` here: Blender reads the properties from the annotations.

from functools import partial
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty

from ...base.enabling.late import late
from . import asset_imports, asset_view
from .buttons import RESOLUTIONS, Options

if TYPE_CHECKING:
    from ...importers import credit
else:
    credit = late("importers.credit")

__all__ = ("asset_of", "register", "takes_a_texture", "unregister")

#: Types of objects that a texture goes onto.
_TAKE_TEXTURES = frozenset({"MESH", "CURVE", "SURFACE", "FONT", "META"})


class MCP_BRIDGE_OT_import_asset(bpy.types.Operator):
    """Download this asset and bring it into the scene"""

    bl_idname = "mcp_bridge.import_asset"
    bl_label = "Import Asset"
    bl_options = {"INTERNAL"}

    asset_id: StringProperty(options={"SKIP_SAVE"})
    size_agreed: BoolProperty(options={"SKIP_SAVE"})
    placed: BoolProperty(options={"SKIP_SAVE"})
    location: FloatVectorProperty(options={"SKIP_SAVE"})
    onto: StringProperty(options={"SKIP_SAVE"})
    password: StringProperty(
        name="Password",
        description="The password of a model that its author has protected. Leave it empty for any other model. "
        "MCP Bridge does not store it",
        subtype="PASSWORD",
        options={"SKIP_SAVE", "HIDDEN"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return asset_view.may_import(cls)

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        entry = asset_view.entry(properties.asset_id)
        return f"Import {entry.title} by {entry.author} ({entry.licence})" if entry else cls.__doc__ or ""

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        entry = asset_view.entry(self.asset_id)
        if entry is None or entry.service == "polyhaven" or self.size_agreed:
            return self.execute(context)
        return context.window_manager.invoke_props_dialog(
            self, width=360, title=f"Import {entry.title}", confirm_text="Import"
        )

    def draw(self, context: bpy.types.Context) -> None:
        entry = asset_view.entry(self.asset_id)
        if entry is not None:
            self.layout.label(text=f"By {entry.author}", translate=False)
            self.layout.label(text=f"Licence: {entry.licence}", translate=False, icon="INFO")
            if entry.requirements:
                self.layout.label(text=entry.requirements, translate=False)
            self.layout.prop(self, "password")

    def execute(self, context: bpy.types.Context) -> set[Any]:
        entry, chosen = asset_view.entry(self.asset_id), Options(context)
        if entry is None:
            self.report({"WARNING"}, "This asset is no longer shown")
            return {"CANCELLED"}
        do = partial(
            asset_imports.import_shown,
            entry=entry,
            agreed=self.size_agreed,
            resolution=chosen.resolution,
            size=chosen.size or None,
            mark=chosen.mark,
            password=self.password or None,
            target=self._target(context),
        )
        asset_view.start_job(f"Import {entry.title}", do)
        return {"FINISHED"}

    def _target(self, context: bpy.types.Context) -> asset_view.Target:
        """The place that the mouse named; else the 3D cursor, and the selected objects."""
        question = asset_view.view.question
        if self.size_agreed and question is not None and question.id == self.asset_id:
            return question.target
        if self.placed:
            return asset_view.Target(tuple(self.location), (self.onto,) if self.onto else ())
        return asset_view.Target(
            onto=tuple(item.name for item in context.selected_objects if takes_a_texture(item))
        )


class MCP_BRIDGE_OT_switch_resolution(bpy.types.Operator):
    """Replace the pictures of this asset, wherever it is used in this file, by those of another resolution"""

    bl_idname = "mcp_bridge.switch_resolution"
    bl_label = "Change Resolution"
    bl_options = {"INTERNAL"}

    asset_id: StringProperty(options={"SKIP_SAVE"})
    resolution: EnumProperty(name="Resolution", items=RESOLUTIONS, options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return asset_view.may_import(cls)

    def execute(self, context: bpy.types.Context) -> set[Any]:
        do = partial(asset_imports.switch_resolution, asset_id=self.asset_id, resolution=self.resolution)
        asset_view.start_job("Change Resolution", do)
        return {"FINISHED"}


def takes_a_texture(item: Any) -> bool:
    """Whether a texture can be put onto this object."""
    return item.type in _TAKE_TEXTURES and item.is_editable and item.data.is_editable


def asset_of(context: bpy.types.Context) -> tuple[str, str]:
    """The id and the name of Poly Haven's asset that the active object, or else the world, has; empty without one."""
    item = context.active_object
    for block in (item.active_material if item else None, context.scene.world):
        nodes = block.node_tree.nodes if block is not None and block.node_tree else ()
        for node in nodes:
            image = getattr(node, "image", None)
            if image is not None and (asset_id := credit.asset_id(image)):
                known = credit.read(block.get(credit.PROPERTY))
                return asset_id, known.title if known else asset_id.replace("_", " ").title()
    return "", ""


_CLASSES = (MCP_BRIDGE_OT_import_asset, MCP_BRIDGE_OT_switch_resolution)


register, unregister = bpy.utils.register_classes_factory(_CLASSES)
