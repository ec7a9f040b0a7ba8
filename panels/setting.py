# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a setting as a row; read-only if the environment or a policy file decides its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operators import state

if TYPE_CHECKING:
    import bpy

__all__ = ("draw", "draw_checkbox", "is_choice", "locked", "meaning")


def draw(layout: bpy.types.UILayout, preferences: Any, name: str) -> None:
    """Draw the preference `name`. If another source decides it, show its value and that source instead."""
    origin = state.view.origins.get(name)
    if origin is None:
        layout.prop(preferences, name)
        return
    definition = preferences.bl_rna.properties[name]
    split = layout.split(factor=0.4)
    label = split.row()
    label.alignment = "RIGHT"
    label.label(text=definition.name)
    column = split.column()
    column.label(text=_shown(definition), icon="LOCKED")
    source = column.row()
    source.active = False
    source.label(text=f"by the {origin}")


def is_choice(preferences: Any, name: str) -> bool:
    """Whether this setting is an enum, whose items have a description each."""
    definition = preferences.bl_rna.properties[name]
    return bool(definition.type == "ENUM" and not definition.is_enum_flag)


def meaning(preferences: Any, name: str) -> str:
    """One line that says what the current value of this setting means for the next script."""
    definition = preferences.bl_rna.properties[name]
    if not is_choice(preferences, name):
        return str(definition.description)
    value = getattr(state.view.settings, name)
    return str(definition.enum_items[value or definition.default].description)


def draw_checkbox(layout: bpy.types.UILayout, preferences: Any, name: str) -> None:
    """Draw an on-off preference without its name, for a panel's header."""
    if name in state.view.origins:
        layout.label(text="", icon="CHECKBOX_HLT" if getattr(state.view.settings, name) else "CHECKBOX_DEHLT")
    else:
        layout.prop(preferences, name, text="")


def locked(preferences: Any) -> list[str]:
    """The settings that a policy file decides, with their names in the preferences if they have one."""
    known = preferences.bl_rna.properties
    return [
        known[name].name if name in known else name.replace("_", " ")
        for name in sorted(state.view.settings.locked)
    ]


def _shown(definition: Any) -> str:
    value = getattr(state.view.settings, definition.identifier)
    if definition.type == "ENUM" and definition.is_enum_flag:
        return ", ".join(str(definition.enum_items[one].name) for one in value) or "None"
    if definition.type == "ENUM" and value in definition.enum_items:
        return str(definition.enum_items[value].name)
    if definition.type == "BOOLEAN":
        return "On" if value else "Off"
    return str(value)
