# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences: what the user decides, passed on to `settings` with every change."""

import os
from collections.abc import Iterable
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..base import settings
from ..base.settings import values
from ..base.settings.setting import Setting, declared
from ..operators import server, state
from . import preferences_page

__all__ = ("EXTENSION", "SHOWN", "get", "register", "unregister")

#: The extension, by whose name Blender keeps the preferences.
EXTENSION = (__package__ or "").rpartition(".")[0]
_DEFAULTS = settings.Settings()
#: The settings that are preferences of the user.
SHOWN = {name: one for name, one in declared(settings.Settings).items() if one.label}


def _pass_on(self: "MCP_BRIDGE_Preferences", context: bpy.types.Context) -> None:
    settings.set_preferences(chosen(self))
    state.refresh()


def _property(one: Setting, default: Any) -> Any:
    """The property of Blender that lets the user choose a setting."""
    words = {"name": one.label, "description": one.about, "update": _pass_on, **one.widget}
    match one.parse:
        case values.Whole(low, high):
            return IntProperty(**words, default=default, min=low, max=high)
        case values.Seconds(low, high):
            return FloatProperty(**words, default=default, min=low, max=high)
        case values.Several():
            return EnumProperty(**words, items=one.choices, options={"ENUM_FLAG"}, default=set(default))
        case values.Choice():
            # Without a default the first choice is shown, and what was never touched is not passed on.
            return EnumProperty(**words, items=one.choices, default=default or one.choices[0][0])
        case values.flag:
            return BoolProperty(**words, default=default)
    return StringProperty(**words, default=str(default or ""))


class MCP_BRIDGE_Preferences(bpy.types.AddonPreferences):
    """The user's preferences, named as the fields of `Settings`; an untouched one keeps the setting's own default."""

    bl_idname = EXTENSION

    __annotations__ = {name: _property(one, getattr(_DEFAULTS, name)) for name, one in SHOWN.items()}

    def draw(self, context: bpy.types.Context) -> None:
        preferences_page.draw(self.layout, self)


def chosen(preferences: Any) -> dict[str, Any]:
    """Return the fields that the user has set."""
    names: Iterable[str] = MCP_BRIDGE_Preferences.__annotations__
    values = {name: _bounded(preferences, name) for name in names if preferences.is_property_set(name)}
    if "file_folders" in values:  # Blender's file browser may give a path beside the .blend
        parts = values["file_folders"].split(os.pathsep)
        values["file_folders"] = os.pathsep.join(bpy.path.abspath(part) for part in parts)
    return {name: value for name, value in values.items() if value != ""}


def _bounded(preferences: Any, name: str) -> Any:
    """What the user set, no less than may be set now: what was saved before may be below that."""
    value = getattr(preferences, name)
    return max(value, preferences.bl_rna.properties[name].hard_min) if type(value) in (int, float) else value


def get() -> Any:
    """Return this extension's preferences, as Blender keeps them.

    None where the extension was enabled by a script for this run alone, past Blender's list of add-ons.
    """
    entry = bpy.context.preferences.addons.get(EXTENSION)
    return None if entry is None else entry.preferences


def register() -> None:
    """Register the preferences and pass on what the user chose before."""
    bpy.utils.register_class(MCP_BRIDGE_Preferences)
    own = get()
    settings.set_preferences({} if own is None else chosen(own))
    again = server.ran_before()
    if own is not None and (own.autostart or again) and not bpy.app.background:
        bpy.app.timers.register(_autostart, first_interval=0.5)


def unregister() -> None:
    """Undo `register`."""
    if bpy.app.timers.is_registered(_autostart):
        bpy.app.timers.unregister(_autostart)
    settings.set_preferences({})
    bpy.utils.unregister_class(MCP_BRIDGE_Preferences)


def _autostart() -> None:
    """Start once Blender is up; an error is shown in the panel, not raised."""
    if not state.running_bridge():
        bpy.ops.mcp_bridge.start()  # type: ignore[attr-defined]
