# SPDX-License-Identifier: GPL-3.0-or-later
"""Search assets, generate them, cancel, copy their credits, and try the keys."""

# No `from __future__ import annotations` here: Blender reads the properties from the annotations.

from functools import partial
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ...base import jobs, settings
from ..reports import reports_errors
from . import asset_imports, asset_view

if TYPE_CHECKING:
    from ...importers.browse import Page
    from ...importers.work import Work

__all__ = ("PREFIX", "RESOLUTIONS", "Options", "register", "unregister")

#: How the names of the panel's properties on the window manager begin.
PREFIX = "mcp_bridge_asset_"

_SERVICES = (
    ("polyhaven", "Poly Haven", "HDRIs, textures and models, free for any use (CC0). polyhaven.com"),
    ("sketchfab", "Sketchfab", "Models of many authors; each has its own licence. sketchfab.com"),
    ("hyper3d", "Hyper3D Rodin", "Models generated from a text, for credits of your account. hyper3d.ai"),
)
_KINDS = (
    ("hdris", "HDRIs", "Pictures that light the scene"),
    ("textures", "Textures", "Materials with all their maps"),
    ("models", "Models", "Objects"),
)
_SHOWN = (
    ("all", "All", "Everything that the service has", "WORLD", 0),
    ("recent", "Recent", "What you imported last", "TIME", 1),
    ("favourites", "Favourites", "What you marked with a star", "SOLO_ON", 2),
)
RESOLUTIONS = tuple((name, name.upper(), "") for name in ("1k", "2k", "4k", "8k", "16k"))


def _categories(self: Any, context: Any) -> tuple[tuple[str, str, str], ...]:
    return asset_view.view.categories  # kept there: Blender does not keep the texts alive


def _start_over(self: Any, context: Any) -> None:
    everything = (asset_view.ALL,)
    asset_view.change(entries=(), cursors=("",), next_cursor="", error="", done="", categories=everything)
    if getattr(self, f"{PREFIX}service") == "hyper3d":
        _ask_balance()
    else:
        bpy.ops.mcp_bridge.search_assets()  # type: ignore[attr-defined]


def _search_again(self: Any, context: Any) -> None:
    bpy.ops.mcp_bridge.search_assets()  # type: ignore[attr-defined]


def _show_sizes(self: Any, context: Any) -> None:
    asset_view.show_sizes(_resolution())


def _properties() -> dict[str, Any]:
    """The properties of what is chosen in the panel, by name. They are on the window manager itself, since the `bpy`
    module crashes when it ends if a property group has callbacks.
    """
    return {
        "service": EnumProperty(
            name="Service", description="Where to look", items=_SERVICES, update=_start_over
        ),
        "kind": EnumProperty(
            name="Type",
            description="What to look for",
            items=_KINDS,
            default="textures",
            update=_start_over,
        ),
        "shown": EnumProperty(name="Show", description="What to show", items=_SHOWN, update=_search_again),
        "query": StringProperty(
            name="Search", description="Words to look for. Empty: the most popular", update=_search_again
        ),
        "category": EnumProperty(
            name="Category",
            description="Only assets of this category",
            items=_categories,
            update=_search_again,
        ),
        "resolution": EnumProperty(
            name="Resolution",
            description="Size of the pictures",
            items=RESOLUTIONS,
            default="2k",
            update=_show_sizes,
        ),
        "size": FloatProperty(
            name="Size",
            description="Length of the longest side. Zero: as the author made it",
            min=0.0,
            soft_max=10.0,
            unit="LENGTH",
        ),
        "mark": BoolProperty(
            name="Mark as Asset",
            description="Show it in the Asset Browser too, in a catalogue of its category or service",
        ),
        "prompt": StringProperty(name="Prompt", description="What to model, in English"),
    }


class Options:
    """What is chosen in the panel, under the names of `_properties`."""

    def __init__(self, context: bpy.types.Context) -> None:
        self.owner = context.window_manager

    def __getattr__(self, name: str) -> Any:
        return getattr(self.owner, PREFIX + name)


class MCP_BRIDGE_OT_search_assets(bpy.types.Operator):
    """Look for assets"""

    bl_idname = "mcp_bridge.search_assets"
    bl_label = "Search Assets"
    bl_options = {"INTERNAL"}

    page: EnumProperty(
        items=(("first", "First", ""), ("next", "Next", ""), ("previous", "Previous", "")),
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        return {"first": "Look for assets", "next": "Next page", "previous": "Previous page"}[properties.page]

    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ...importers import browse, environment

        chosen, view = Options(context), asset_view.view
        asset_view.change(favourites=frozenset(entry.id for entry in environment.shelf().favourites()))
        if chosen.shown != "all":
            kept = partial(_kept, service=chosen.service, shown=chosen.shown)
            asset_view.start_search(kept, ("",), _resolution)
            return {"FINISHED"}
        cursors = {
            "first": ("",),
            "next": (*view.cursors, view.next_cursor),
            "previous": view.cursors[:-1] or ("",),
        }[self.page]
        category = "" if chosen.category == asset_view.ALL[0] else chosen.category
        asked = (chosen.service, chosen.query, chosen.kind, category, cursors[-1])
        asset_view.start_search(lambda work: browse.search(work, *asked), cursors, _resolution)
        if chosen.service == "polyhaven" and len(view.categories) == 1:
            kind = chosen.kind
            asset_view.ask(
                lambda work: browse.categories(work, kind), _show_categories, failed=lambda _message: None
            )
        return {"FINISHED"}


class MCP_BRIDGE_OT_favour_asset(bpy.types.Operator):
    """Make this asset a favourite, or no longer one"""

    bl_idname = "mcp_bridge.favour_asset"
    bl_label = "Favourite"
    bl_options = {"INTERNAL"}

    asset_id: StringProperty(options={"SKIP_SAVE"})

    @reports_errors
    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ...importers import environment

        entry = asset_view.entry(self.asset_id)
        if entry is None:
            return {"CANCELLED"}
        environment.shelf().toggle(entry)
        asset_view.change(favourites=frozenset(one.id for one in environment.shelf().favourites()))
        return {"FINISHED"}


class MCP_BRIDGE_OT_generate_asset(bpy.types.Operator):
    """Have a model generated from the prompt. It costs credits of your account"""

    bl_idname = "mcp_bridge.generate_asset"
    bl_label = "Generate Model"
    bl_options = {"INTERNAL"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not asset_view.may_import(cls):
            return False
        if not Options(context).prompt.strip():
            cls.poll_message_set("Write what to model first")
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        return context.window_manager.invoke_props_dialog(
            self, width=360, title="Generate Model", confirm_text="Order", cancel_default=True
        )

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.label(text=Options(context).prompt, translate=False)
        left = asset_view.view.balance
        self.layout.label(
            text=f"Costs 0.5 credit or more of your account{', which has ' + left if left else ''}",
            icon="FUND",
            translate=False,
        )

    def execute(self, context: bpy.types.Context) -> set[Any]:
        chosen = Options(context)
        do = partial(asset_imports.generate, prompt=chosen.prompt, size=chosen.size or None, mark=chosen.mark)
        asset_view.start_job("Generate Model", do)
        return {"FINISHED"}


class MCP_BRIDGE_OT_cancel_asset(bpy.types.Operator):
    """Stop the import; the scene stays as it is"""

    bl_idname = "mcp_bridge.cancel_asset"
    bl_label = "Cancel Import"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        if asset_view.view.job is not None:
            jobs.registry.cancel(asset_view.view.job.id, asset_view.OWNER)
        asset_view.change(question=None)
        return {"FINISHED"}


class MCP_BRIDGE_OT_copy_credits(bpy.types.Operator):
    """Copy the list of everything imported into this file, with authors and licences"""

    bl_idname = "mcp_bridge.copy_credits"
    bl_label = "Copy Credits"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        from ...importers import append

        found = append.credits_of()
        if not found:
            self.report({"INFO"}, "No imported assets are in this file")
            return {"CANCELLED"}
        context.window_manager.clipboard = "\n".join(item.line for item in found)
        self.report({"INFO"}, f"Copied the credits of {len(found)} assets")
        return {"FINISHED"}


class MCP_BRIDGE_OT_test_key(bpy.types.Operator):
    """Ask the service whether it accepts this key"""

    bl_idname = "mcp_bridge.test_key"
    bl_label = "Test"
    bl_options = {"INTERNAL"}

    service: EnumProperty(
        items=(("sketchfab", "Sketchfab", ""), ("hyper3d", "Hyper3D", ""), ("fal", "fal.ai", "")),
        options={"SKIP_SAVE"},
    )

    def execute(self, context: bpy.types.Context) -> set[Any]:
        asset_view.change(key_said="Asking…")
        asset_view.ask(partial(_try_key, service=self.service), _show_key, failed=_show_key)
        return {"FINISHED"}


def _resolution() -> str:
    """The resolution that is chosen now."""
    chosen: str = Options(bpy.context).resolution
    return chosen


def _kept(work: "Work", service: str, shown: str) -> "Page":
    """The page of what the user imported last, or marked."""
    from ...importers import environment
    from ...importers.browse import Page

    kept = environment.shelf().recent() if shown == "recent" else environment.shelf().favourites()
    return Page(tuple(entry for entry in kept if entry.service == service))


def _show_categories(found: list[tuple[str, str]]) -> None:
    asset_view.change(categories=(asset_view.ALL, *((path, name, "") for path, name in found)))


def _ask_balance() -> None:
    """Show what is left on the account; without a key, or when it is not told, nothing."""
    from ...importers.hyper3d import importing

    asset_view.change(balance="")
    asset_view.ask(
        lambda work: importing.balance(importing.choose(None), work.cancelled),
        lambda left: asset_view.change(balance=f"{left} left" if left else ""),
        failed=lambda _message: None,
    )


def _show_key(text: str) -> None:
    asset_view.change(key_said=text)


def _try_key(work: "Work", service: str) -> str:
    if service == "sketchfab":
        from ...importers.sketchfab.api import Sketchfab

        return f"Accepted: {Sketchfab(settings.current().sketchfab_token, work.cancelled).account()}"
    from ...importers.hyper3d import importing

    left = importing.balance("hyper3d" if service == "hyper3d" else "fal", work.cancelled)
    if left is None:
        return "fal.ai shows the balance only to an administrator's key. The first order shows whether any other works"
    return f"Accepted: {left} left"


_CLASSES = (
    MCP_BRIDGE_OT_search_assets,
    MCP_BRIDGE_OT_favour_asset,
    MCP_BRIDGE_OT_generate_asset,
    MCP_BRIDGE_OT_cancel_asset,
    MCP_BRIDGE_OT_copy_credits,
    MCP_BRIDGE_OT_test_key,
)


def register() -> None:
    """Register the operators, and what is chosen in the panel."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    for name, definition in _properties().items():
        setattr(bpy.types.WindowManager, PREFIX + name, definition)


def unregister() -> None:
    """Unregister them."""
    for name in _properties():
        delattr(bpy.types.WindowManager, PREFIX + name)
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
