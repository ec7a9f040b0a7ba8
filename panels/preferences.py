# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences: what the user decides, passed on to `settings` with every change."""

import os
from collections.abc import Iterable
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..base import settings
from ..operators import state
from . import preferences_page

__all__ = ("get", "register", "unregister")

#: The extension, by whose name Blender keeps the preferences.
_EXTENSION = (__package__ or "").rpartition(".")[0]
_DEFAULTS = settings.Settings()


def _pass_on(self: "MCP_BRIDGE_Preferences", context: bpy.types.Context) -> None:
    settings.set_preferences(chosen(self))
    state.refresh()


class MCP_BRIDGE_Preferences(bpy.types.AddonPreferences):
    """Named as the fields of `Settings`; one that was never touched keeps the setting's own default."""

    bl_idname = _EXTENSION

    port: IntProperty(
        name="Port",
        description="Where assistants connect. When the standard port is taken, the next free one is used",
        default=_DEFAULTS.port,
        min=1024,
        max=65535,
        update=_pass_on,
    )
    autostart: BoolProperty(
        name="Start with Blender",
        description="Let assistants connect as soon as Blender is up",
        default=_DEFAULTS.autostart,
        update=_pass_on,
    )
    execute_enabled: BoolProperty(
        name="Execute Endpoint",
        description="Let assistants run Python scripts in this Blender, within the limits set here. "
        "Off: they can look at the scene, and nothing else",
        default=_DEFAULTS.execute_enabled,
        update=_pass_on,
    )
    confirm: EnumProperty(
        name="Ask Me",
        description="Where you are asked before an assistant's script runs",
        items=(
            ("panel", "Here", "The script waits in the MCP panel until you allow it"),
            ("client", "In the Client", "The program that the assistant runs in asks you"),
            ("auto", "Never", "Scripts run at once, within the limits and as one undo step each"),
        ),
        default="panel",
        update=_pass_on,
    )
    rehearse: EnumProperty(
        name="Rehearse First",
        description="Which scripts are tried on a copy of the scene, in a Blender that can reach nothing else, before "
        "they run here. Scripts that are injected always are",
        items=(
            ("always", "Always", "Also those that you are not asked about"),
            ("asking", "When You Are Asked", "So that you see what a script would change before you decide"),
            ("never", "Never", "You decide by reading the script alone"),
        ),
        default=_DEFAULTS.rehearse,
        update=_pass_on,
    )
    level: EnumProperty(
        name="Scripts Use",
        description="What an assistant's script can reach",
        items=(
            ("arithmetic", "Arithmetic", "Numbers and calculation alone"),
            ("math", "Mathematics", "Python without Blender: control flow, functions, mathematics"),
            (
                "blender",
                "Blender",
                "The scene, through Blender's Python interface; never files or the network",
            ),
        ),
        default=_DEFAULTS.level,
        update=_pass_on,
    )
    dry_run: BoolProperty(
        name="Dry Run",
        description="Check scripts and report what would happen, but run none",
        default=_DEFAULTS.dry_run,
        update=_pass_on,
    )
    time_limit_s: FloatProperty(
        name="Time Limit",
        description="A script that runs longer is stopped and undone",
        default=_DEFAULTS.time_limit_s,
        min=0.1,
        max=3600.0,
        soft_max=60.0,
        subtype="TIME_ABSOLUTE",
        unit="TIME_ABSOLUTE",
        update=_pass_on,
    )
    memory_limit_mb: IntProperty(
        name="Memory Limit (MB)",
        description="A script that takes more memory is stopped and undone",
        default=_DEFAULTS.memory_limit_mb,
        min=64,
        max=1024 * 1024,
        update=_pass_on,
    )
    output_limit_kb: IntProperty(
        name="Output Limit (KB)",
        description="A script that prints or returns more is stopped and undone",
        default=_DEFAULTS.output_limit_kb,
        min=1,
        max=64 * 1024,
        update=_pass_on,
    )
    rate_limit: IntProperty(
        name="Scripts per Minute",
        description="How many scripts one client may run in a minute",
        default=_DEFAULTS.rate_limit,
        min=1,
        max=1_000_000,
        soft_max=600,
        update=_pass_on,
    )
    log_level: EnumProperty(
        name="Level",
        description="How much is logged",
        items=[(name, name.title(), "") for name in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")],
        default=_DEFAULTS.log_level,
        update=_pass_on,
    )
    log_format: EnumProperty(
        name="Format",
        description="How a line of the log is written",
        items=(("text", "Text", "For people"), ("json", "JSON Lines", "For programs")),
        default=_DEFAULTS.log_format,
        update=_pass_on,
    )
    log_handler: EnumProperty(
        name="To",
        description="Where the log goes",
        items=(
            ("console", "Console", "Where Blender was started"),
            ("file", "File", "A file that is rotated"),
        ),
        default=_DEFAULTS.log_handler,
        update=_pass_on,
    )
    log_file: StringProperty(
        name="File",
        description="The log's file. Empty: one in the extension's own folder",
        subtype="FILE_PATH",
        update=_pass_on,
    )
    rehearsal_blender: StringProperty(
        name="Rehearse With",
        description="Another Blender to try scripts in before you are asked. Empty: this one",
        subtype="FILE_PATH",
        update=_pass_on,
    )
    file_folders: StringProperty(
        name="Folders",
        description="Where assistants may export, save, open and render to, and nowhere else; several with "
        f"“{os.pathsep}” between them. Overwriting a file asks you. Empty: nowhere",
        subtype="DIR_PATH",
        update=_pass_on,
    )
    render_targets: StringProperty(
        name="Render Targets",
        description="Where assistants may have animations rendered, as NAME = ENGINE option=value, with “;” between "
        "several. The page Settings shows each engine",
        default=_DEFAULTS.render_targets,
        update=_pass_on,
    )
    journal_days: IntProperty(
        name="Keep Journal (Days)",
        description="How long the record of what assistants did is kept",
        default=_DEFAULTS.journal_days,
        min=30,
        max=3650,
        update=_pass_on,
    )
    journal_code: BoolProperty(
        name="Keep Scripts in Journal",
        description="Record the text of each script, not only its length and outcome",
        default=_DEFAULTS.journal_code,
        update=_pass_on,
    )

    extension_tools: BoolProperty(
        name="Tools of Other Extensions",
        description="Let assistants use tools that other enabled extensions offer. They are not sandboxed; what "
        "changes something is asked about like a script",
        default=_DEFAULTS.extension_tools,
        update=_pass_on,
    )

    otlp_endpoint: StringProperty(
        name="Send Traces To",
        description="Address of an OpenTelemetry collector, such as http://127.0.0.1:4318, that is told how long "
        "requests take. Counts from the next start of the server",
        update=_pass_on,
    )

    asset_services: EnumProperty(
        name="Asset Services",
        description="Where assets may be fetched from, by you and by assistants",
        items=(
            ("polyhaven", "Poly Haven", "HDRIs, textures and models, free for any use (CC0)"),
            ("sketchfab", "Sketchfab", "Models of many authors; each has its own licence"),
            ("hyper3d", "Hyper3D Rodin", "Models generated for credits of your account, there or at fal.ai"),
        ),
        options={"ENUM_FLAG"},
        default=set(_DEFAULTS.asset_services),
        update=_pass_on,
    )
    sketchfab_token: StringProperty(
        name="Sketchfab API Token",
        description="To download from Sketchfab. It is under Settings › Password & API on sketchfab.com",
        subtype="PASSWORD",
        update=_pass_on,
    )
    hyper3d_key: StringProperty(
        name="Hyper3D API Key",
        description="To generate models with Hyper3D Rodin on your own account",
        subtype="PASSWORD",
        update=_pass_on,
    )
    fal_key: StringProperty(
        name="fal.ai API Key",
        description="To generate models with Hyper3D Rodin through fal.ai on your own account",
        subtype="PASSWORD",
        update=_pass_on,
    )
    ask_above_mb: IntProperty(
        name="Ask Above (MB)",
        description="A larger download begins only after you agreed",
        default=_DEFAULTS.ask_above_mb,
        min=1,
        max=1_000_000,
        update=_pass_on,
    )
    cache_quota_mb: IntProperty(
        name="Cache (MB)",
        description="Downloaded assets are kept up to this size; what was not used for longest goes first",
        default=_DEFAULTS.cache_quota_mb,
        min=100,
        max=1_000_000,
        update=_pass_on,
    )

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
    entry = bpy.context.preferences.addons.get(_EXTENSION)
    return None if entry is None else entry.preferences


def register() -> None:
    """Register the preferences and pass on what the user chose before."""
    bpy.utils.register_class(MCP_BRIDGE_Preferences)
    own = get()
    settings.set_preferences({} if own is None else chosen(own))
    if own is not None and own.autostart and not bpy.app.background:
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
