# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what a script left behind by comparing with a snapshot; undo and report it.

The guard refuses all of this while a script runs; the comparison finds what the guard missed. `bpy` is
imported in the call, because the sandbox's pure rooms import this module's neighbours without Blender.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Collection, Iterator
from itertools import compress, repeat
from operator import contains
from typing import Any

from .pixels import KeptPixels

__all__ = ("Snapshot",)

#: Types whose registered subclasses are compared, by name in bpy.types.
_REGISTERED = (
    "Operator Macro Panel Menu Header UIList PropertyGroup AddonPreferences RenderEngine KeyingSetInfo Gizmo "
    "GizmoGroup Node NodeTree NodeSocket FileHandler AssetShelf WorkSpaceTool USDHook"
).split()
#: Types on which add-ons register properties; scripts must not.
_EXTENDED = (
    "Scene Object Material Mesh WindowManager Collection ViewLayer Light Camera World Bone PoseBone".split()
)
#: Data-blocks with a path in a file of its own: collection and property.
_PATHS = (
    ("images", "filepath_raw"),
    ("sounds", "filepath"),
    ("movieclips", "filepath"),
    ("fonts", "filepath"),
    ("volumes", "filepath"),
    ("cache_files", "filepath"),
    ("libraries", "filepath"),
    ("texts", "filepath"),
)
#: Modules whose classes Blender makes or completes at their first use.
_BLENDERS = frozenset({"bpy.types", "bpy_types", "_bpy_types"})
#: Names that Blender itself puts into the drivers' namespace when it evaluates one.
_DRIVER_NAMES = frozenset({"frame", "depsgraph", "self"})
_DRIVEN = (
    "objects meshes materials node_groups armatures shape_keys worlds scenes lights cameras curves".split()
)
_PLAIN = frozenset(("BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"))


class Snapshot:
    """Blender's state outside the scene. Make it just before the script runs, on the main thread."""

    def __init__(self) -> None:
        import bpy

        self._handlers = {name: list(found) for name, found in _handler_lists()}
        self._driver_names = dict(_driver_namespace())
        self._classes = {name: _registered(_subclasses(name)) for name in _REGISTERED}
        self._properties = {name: len(getattr(bpy.types, name).bl_rna.properties) for name in _EXTENDED}
        self._manuals = list(bpy.utils._manual_map)
        self._expressions = {d.driver.expression for d in _drivers()}
        self._modules = {text.name: text.as_string() for text in bpy.data.texts if text.use_module}
        self._paths = {key: getattr(owner, name) for key, owner, name in _path_properties()}
        self._preferences = dict(_preference_values())
        self._dirty = bpy.context.preferences.is_dirty
        self._addons = set(bpy.context.preferences.addons.keys())
        self._keys = {keymap: len(items) for keymap, items in _keymaps()}
        self._view = [(owner, dict(_plain_values(owner))) for owner in _view_structs()]
        self._session = {path: dict(_plain_values(owner)) for path, owner in _scene_structs()}
        self._pixels = KeptPixels()

    def keep_pixels(self, image: Any) -> None:
        """Keep the pixels of an image that the script is about to change, for `restore_session`."""
        self._pixels.keep(image)

    def called_by_blender(self) -> list[object]:
        """Return the functions that Blender may call while a script runs: handlers, and functions for drivers."""
        return [*(each for found in self._handlers.values() for each in found), *self._driver_names.values()]

    def remove_left_behind(self) -> list[str]:
        """Undo what the script left outside the scene; returns a sentence for each thing undone."""
        steps: tuple[Callable[[], Iterator[str]], ...] = (
            self._restore_handlers,
            self._restore_driver_names,
            self._restore_classes,
            self._restore_manuals,
            self._restore_drivers,
            self._restore_texts,
            self._restore_paths,
            self._restore_preferences,
            self._restore_keymaps,
        )
        return [sentence for step in steps for sentence in step()]

    def restore_session(self) -> list[str]:
        """Restore what Blender's undo does not restore: cursor, tool settings, viewports, pixels of images.

        Call it after a roll-back. Returns a sentence for each value that could not be restored.
        """
        failed: list[str] = []
        for owner, values in self._view:
            failed += _write_back(owner, values)
        now = dict(_scene_structs())
        for path, values in self._session.items():
            if path in now:
                failed += _write_back(now[path], values)
        return failed + self._pixels.restore()

    # --- one kind each --------------------------------------------------------------------------------------

    def _restore_handlers(self) -> Iterator[str]:
        for name, found in _handler_lists():
            before = self._handlers.get(name, [])
            if list(found) != before:
                found[:] = before
                yield f"bpy.app.handlers.{name} was changed and is as before"

    def _restore_driver_names(self) -> Iterator[str]:
        space = _driver_namespace()
        before = self._driver_names
        changed = [
            k for k in space if k not in _DRIVER_NAMES and (k not in before or space[k] is not before[k])
        ]
        changed += [k for k in before if k not in space]
        if changed:
            space.clear()
            space.update(before)
            yield f"bpy.app.driver_namespace was changed and is as before: {', '.join(map(str, changed))}"

    def _restore_classes(self) -> Iterator[str]:
        import bpy

        for name, before in self._classes.items():
            for kind in _registered(set(_subclasses(name)) - before):
                if kind.__module__ in _BLENDERS:  # made when a type of Blender's own is first used
                    continue
                bpy.utils.unregister_class(kind)
                yield f"the {name} {kind.__name__} was registered and is unregistered again"
        for name, count in self._properties.items():
            kind = getattr(bpy.types, name)
            if len(kind.bl_rna.properties) > count:
                for prop in [p.identifier for p in list(kind.bl_rna.properties)[count:] if p.is_runtime]:
                    delattr(kind, prop)
                    yield f"bpy.types.{name}.{prop} was registered and is removed again"

    def _restore_manuals(self) -> Iterator[str]:
        import bpy

        if list(bpy.utils._manual_map) != self._manuals:
            bpy.utils._manual_map[:] = self._manuals
            yield "the manual's links were changed and are as before"

    def _restore_drivers(self) -> Iterator[str]:
        from ...scene.data_paths import bad_expression

        for curve in _drivers():
            driver = curve.driver
            if driver.expression not in self._expressions and bad_expression(driver.expression):
                driver.expression = "0"
                yield f"a driver of {curve.id_data.name!r} had an expression that could run code; it is 0 now"

    def _restore_texts(self) -> Iterator[str]:
        import bpy

        for text in bpy.data.texts:
            if text.use_module and text.name not in self._modules:
                text.use_module = False
                yield f"the text {text.name!r} would have run when the file is opened; its flag is off again"
            elif text.use_module and text.as_string() != self._modules[text.name]:
                text.from_string(self._modules[text.name])
                yield f"the text {text.name!r}, which runs when the file is opened, was changed and is as before"

    def _restore_paths(self) -> Iterator[str]:
        for key, owner, name in _path_properties():
            path = getattr(owner, name)
            before = self._paths.get(key)
            if path != before and (path or before) and not _plain_path(path, name):
                if not owner.is_property_readonly(name):
                    setattr(owner, name, before or "")
                yield f"{key}: the path {path!r} is {before or ''!r} again"

    def _restore_preferences(self) -> Iterator[str]:
        import bpy

        preferences = bpy.context.preferences
        for path, value in _preference_values():
            before = self._preferences.get(path, value)
            if before != value:
                group, _, name = path.partition(".")
                setattr(getattr(preferences, group), name, before)
                yield f"the preference {path} was changed and is as before"
        if set(preferences.addons.keys()) != self._addons:
            yield "add-ons were enabled or disabled: look at the preferences"
        if preferences.is_dirty != self._dirty:
            preferences.is_dirty = self._dirty

    def _restore_keymaps(self) -> Iterator[str]:
        for keymap, items in _keymaps():
            before = self._keys.get(keymap, 0)
            if len(items) > before:
                for item in list(items)[before:]:
                    items.remove(item)
                yield f"shortcuts were added to {keymap[1]!r} and are removed again"


# --- what is compared ---------------------------------------------------------------------------------------


def _driver_namespace() -> dict[str, Any]:
    """The names that drivers can use. Reading it makes Blender fill it, also with the module `bpy`.

    If Blender is itself a module, it crashes at the end of Python when this namespace still has `bpy`.
    """
    import bpy

    space: dict[str, Any] = bpy.app.driver_namespace
    atexit.unregister(_let_go_of_bpy)
    atexit.register(_let_go_of_bpy)
    return space


def _let_go_of_bpy() -> None:
    import bpy

    bpy.app.driver_namespace.pop("bpy", None)


def _handler_lists() -> Iterator[tuple[str, list[Any]]]:
    import bpy

    for name in dir(bpy.app.handlers):
        found = getattr(bpy.app.handlers, name)
        if isinstance(found, list):
            yield name, found


def _subclasses(name: str) -> list[type]:
    import bpy

    kind = getattr(bpy.types, name, None)
    return type.__subclasses__(kind) if kind is not None else []


def _registered(kinds: Collection[type]) -> set[type]:
    """The registered classes of these. There are thousands, so no line of Python runs for each."""
    return set(compress(kinds, map(contains, map(vars, kinds), repeat("bl_rna"))))


def _drivers() -> Iterator[Any]:
    import bpy

    for collection in _DRIVEN:
        for owner in getattr(bpy.data, collection):
            animation = owner.animation_data
            if animation is not None:
                yield from animation.drivers


def _path_properties() -> Iterator[tuple[str, Any, str]]:
    import bpy

    for collection, name in _PATHS:
        for owner in getattr(bpy.data, collection, ()):
            yield f"{collection}[{owner.name!r}]", owner, name
    for scene in bpy.data.scenes:
        yield f"scenes[{scene.name!r}].render", scene.render, "filepath"


def _plain_path(path: str, name: str) -> bool:
    from ...scene.data_paths import bad_output_path

    return path.startswith("<") or not path or (name == "filepath" and not bad_output_path(path))


def _preference_values() -> Iterator[tuple[str, Any]]:
    import bpy

    for group in ("filepaths", "edit", "system", "inputs"):
        owner = getattr(bpy.context.preferences, group)
        for name, value in _plain_values(owner):
            yield f"{group}.{name}", value


def _keymaps() -> Iterator[tuple[tuple[str, str], Any]]:
    import bpy

    manager = bpy.context.window_manager
    for config in (manager.keyconfigs.user, manager.keyconfigs.addon):
        if config is not None:
            for keymap in config.keymaps:
                yield (config.name, f"{keymap.name} {keymap.space_type}"), keymap.keymap_items


def _view_structs() -> Iterator[Any]:
    """The settings of the 3D viewports. They belong to the window, which undo does not change."""
    import bpy

    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for space in area.spaces:
                if space.type == "VIEW_3D":
                    yield from (space, space.shading, space.overlay)
                    if space.region_3d is not None:
                        yield space.region_3d


def _scene_structs() -> Iterator[tuple[tuple[str, str], Any]]:
    """The parts of a scene that undo does not restore, by scene and part: undo makes references invalid."""
    import bpy

    for scene in bpy.data.scenes:
        tools = scene.tool_settings
        yield (scene.name, "cursor"), scene.cursor
        yield (scene.name, "tool_settings"), tools
        for part in ("unified_paint_settings", "sculpt", "vertex_paint", "weight_paint", "image_paint"):
            owner = getattr(tools, part, None)
            if owner is not None:
                yield (scene.name, part), owner


_names: dict[type, tuple[str, ...]] = {}


def _plain_values(owner: Any) -> Iterator[tuple[str, Any]]:
    kind = type(owner)
    names = _names.get(kind)
    if names is None:
        names = _names[kind] = tuple(
            p.identifier
            for p in owner.bl_rna.properties
            if p.type in _PLAIN and not p.is_readonly and not (p.type == "ENUM" and not p.enum_items_static)
        )
    for name in names:
        value = getattr(owner, name)
        yield name, value if isinstance(value, (bool, int, float, str)) else _frozen(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, set):
        return frozenset(value)
    try:
        return tuple(tuple(row) if hasattr(row, "__len__") else row for row in value)
    except TypeError:
        return value


def _write_back(owner: Any, values: dict[str, Any]) -> list[str]:
    failed: list[str] = []
    try:
        now = dict(_plain_values(owner))
    except ReferenceError:
        return failed
    for name, before in values.items():
        if now.get(name) != before:
            try:
                setattr(owner, name, set(before) if isinstance(before, frozenset) else before)
            except (AttributeError, TypeError, ValueError) as error:
                failed.append(f"{type(owner).__name__}.{name}: {error}")
    return failed
