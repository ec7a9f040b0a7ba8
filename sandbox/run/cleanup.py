# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what a script left behind by comparing with a snapshot; undo and report it.

The guard refuses all of this while a script runs; the comparison finds what the guard missed. `bpy` is imported in the
call, because the sandbox's pure rooms import this module's neighbours without Blender.
"""

from __future__ import annotations

import atexit
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, compress, repeat
from operator import attrgetter
from typing import Any, NamedTuple

from .pixels import KeptPixels

__all__ = ("Snapshot",)

#: Types whose subclasses an add-on can register later than it makes them, by name in bpy.types.
_REGISTERED = (
    "Operator Macro Panel Menu Header UIList PropertyGroup AddonPreferences RenderEngine KeyingSetInfo Gizmo "
    "GizmoGroup Node NodeTree NodeSocket FileHandler AssetShelf WorkSpaceTool USDHook"
).split()
#: Types on which add-ons register properties; scripts must not.
_EXTENDED = (
    "Scene Object Material Mesh WindowManager Collection ViewLayer Light Camera World Bone PoseBone".split()
)
#: Data-blocks that have a path to a file: collection and property.
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
_PREFERENCES = ("filepaths", "edit", "system", "inputs")
_KEYMAP_NAME: Callable[[Any], tuple[str, str]] = attrgetter("name", "space_type")
_KEYMAP_ITEMS: Callable[[Any], Any] = attrgetter("keymap_items")
#: The values of the plain properties of a struct, in the order of `_Plain`: single values, then arrays.
_Values = list[tuple[Any, ...]]


class Snapshot:
    """Blender's state outside the scene. Make it just before the script runs, on the main thread.

    Keep Python's garbage collector off until the last look at what the script left: it tells which classes are new.
    """

    def __init__(self) -> None:
        import bpy

        self._handlers = [*map(list, _handler_lists())]
        self._driver_names = dict(_driver_namespace())
        self._addons = frozenset(bpy.context.preferences.addons.keys())
        self._unregistered = [*_unregistered(self._addons)]
        self._members = [*map(dict, map(vars, _extended_types()))]
        self._manuals = list(bpy.utils._manual_map)
        self._expressions = {d.driver.expression for d in _drivers()}
        self._modules = {text.name: text.as_string() for text in bpy.data.texts if text.use_module}
        self._paths = {key: getattr(owner, name) for key, owner, name in _path_properties()}
        self._preferences = _preference_values()
        self._dirty = bpy.context.preferences.is_dirty
        self._keys = _key_counts()
        self._keymaps = _keymap_names(self._keys)
        self._view = [(owner, _plain_values(owner)) for owner in _view_structs()]
        self._session = {path: _plain_values(owner) for path, owner in _scene_structs()}
        self._pixels = KeptPixels()
        # All objects so far become old ones: while the collector is off, the young ones are those of the script.
        gc.freeze()
        gc.unfreeze()

    def keep_pixels(self, image: Any) -> None:
        """Keep an image's pixels for `restore_session`, before the script changes them."""
        self._pixels.keep(image)

    def called_by_blender(self) -> list[object]:
        """Return the functions that Blender may call while a script runs: handlers, and functions for drivers."""
        return [*chain.from_iterable(self._handlers), *self._driver_names.values()]

    def remove_left_behind(self) -> list[str]:
        """Undo what the script left outside the scene; returns a sentence for each thing undone."""
        steps: tuple[Callable[[], Iterator[str]], ...] = (
            self._restore_handlers,
            self._restore_driver_names,
            self._restore_classes,
            self._restore_members,
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
        lists = _handler_lists()
        if lists == self._handlers:
            return
        for name, found, before in zip(_handler_names(), lists, self._handlers, strict=True):
            if found != before:
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

        young = gc.get_objects(generation=0)
        made: list[type] = [*compress(young, map(isinstance, young, repeat(type)))]
        for kind in filter(_is_registered, (*self._unregistered, *made)):
            if kind.__module__ not in _BLENDERS:  # Blender makes it at the first use of one of its own types
                bpy.utils.unregister_class(kind)
                yield f"the {kind.__base__.__name__} {kind.__name__} was registered and is unregistered again"

    def _restore_members(self) -> Iterator[str]:
        for kind, before in zip(_extended_types(), self._members, strict=True):
            now = vars(kind)
            if now == before:
                continue
            for name in [name for name in now if name not in before]:
                delattr(kind, name)
                yield f"bpy.types.{kind.__name__}.{name} was registered and is removed again"
            for name in [name for name in before if now.get(name) is not before[name]]:
                setattr(kind, name, before[name])
                yield f"bpy.types.{kind.__name__}.{name} was replaced or removed and is as before"

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
        for group, before, values in zip(_PREFERENCES, self._preferences, _preference_values(), strict=True):
            owner = getattr(preferences, group)
            for name, value in _differing(type(owner), before, values):
                setattr(owner, name, value)
                yield f"the preference {group}.{name} was changed and is as before"
        if set(preferences.addons.keys()) != self._addons:
            yield "add-ons were enabled or disabled: look at the preferences"
        if preferences.is_dirty != self._dirty:
            preferences.is_dirty = self._dirty

    def _restore_keymaps(self) -> Iterator[str]:
        if _key_counts() == self._keys:
            return
        for config, names, found in zip(_key_configurations(), self._keymaps, self._keys, strict=True):
            counts = dict(zip(names, found, strict=True))
            for keymap in config.keymaps:
                items = keymap.keymap_items
                before = counts.get(_KEYMAP_NAME(keymap), 0)
                if len(items) > before:
                    for item in list(items)[before:]:
                        items.remove(item)
                    yield f"shortcuts were added to '{keymap.name} {keymap.space_type}' and are removed again"


# --- what is compared ---------------------------------------------------------------------------------------


def _driver_namespace() -> dict[str, Any]:
    """Return the names that drivers can use. Reading them makes Blender fill the namespace, also with `bpy`.

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


@cache
def _handler_names() -> tuple[str, ...]:
    import bpy

    return tuple(n for n in dir(bpy.app.handlers) if isinstance(getattr(bpy.app.handlers, n), list))


def _handler_lists() -> list[list[Any]]:
    """Return Blender's own lists of handlers, in the order of `_handler_names`."""
    import bpy

    return [*attrgetter(*_handler_names())(bpy.app.handlers)]


#: For each type, at the last look at all its subclasses: how many references to it there were, with the enabled
#: add-ons, and the subclasses that were not registered. Each subclass refers to its base, so the count changes when one
#: comes or goes. To look at each of thousands of classes would take a fifth of a short run.
_last: dict[str, tuple[tuple[int, frozenset[str]], list[weakref.ref[type]]]] = {}


def _unregistered(addons: frozenset[str]) -> Iterator[type]:
    """Iterate over the subclasses of the types `_REGISTERED` that are not registered with these add-ons enabled."""
    for name in _REGISTERED:
        kind = _type(name)
        if kind is None:
            continue
        state = sys.getrefcount(kind), addons
        if name not in _last or _last[name][0] != state:
            found = [each for each in type.__subclasses__(kind) if not _is_registered(each)]
            _last[name] = state, [*map(weakref.ref, found)]
        for reference in _last[name][1]:
            each = reference()
            if each is not None and not _is_registered(each):
                yield each


def _is_registered(kind: type) -> bool:
    return "bl_rna" in vars(kind)


@cache
def _type(name: str) -> Any:
    import bpy

    return getattr(bpy.types, name, None)


@cache
def _extended_types() -> list[type]:
    """Return the types `_EXTENDED`. Blender keeps what is registered on a type as a member of its Python class, too."""
    import bpy

    return [getattr(bpy.types, name) for name in _EXTENDED]


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


def _preference_values() -> list[_Values]:
    import bpy

    preferences = bpy.context.preferences
    return [_plain_values(getattr(preferences, group)) for group in _PREFERENCES]


def _key_configurations() -> list[Any]:
    import bpy

    configurations = bpy.context.window_manager.keyconfigs
    return [each for each in (configurations.user, configurations.addon) if each is not None]


def _key_counts() -> list[list[int]]:
    """Return how many shortcuts each keymap has, for each configuration."""
    return [[*map(len, map(_KEYMAP_ITEMS, each.keymaps))] for each in _key_configurations()]


_last_keymaps: tuple[list[list[int]], list[list[tuple[str, str]]]] = ([], [])


def _keymap_names(counts: list[list[int]]) -> list[list[tuple[str, str]]]:
    """Return name and space of each keymap; they are read again only if the counts are other than the last time."""
    global _last_keymaps
    if _last_keymaps[0] != counts:
        _last_keymaps = counts, [[*map(_KEYMAP_NAME, each.keymaps)] for each in _key_configurations()]
    return _last_keymaps[1]


def _view_structs() -> Iterator[Any]:
    """Iterate over the settings of the 3D viewports. They belong to the window, which undo does not change."""
    import bpy

    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for space in area.spaces:
                if space.type == "VIEW_3D":
                    yield from (space, space.shading, space.overlay)
                    if space.region_3d is not None:
                        yield space.region_3d


def _scene_structs() -> Iterator[tuple[tuple[str, str], Any]]:
    """Iterate over the scenes' parts that undo does not restore, by name: undo makes references invalid."""
    import bpy

    for scene in bpy.data.scenes:
        tools = scene.tool_settings
        yield (scene.name, "cursor"), scene.cursor
        yield (scene.name, "tool_settings"), tools
        for part in ("unified_paint_settings", "sculpt", "vertex_paint", "weight_paint", "image_paint"):
            owner = getattr(tools, part, None)
            if owner is not None:
                yield (scene.name, part), owner


class _Plain(NamedTuple):
    """The writable plain properties of a struct: single values, read all at once, arrays, and arrays of rows."""

    names: tuple[str, ...]
    read: Callable[[Any], tuple[Any, ...]]
    arrays: tuple[str, ...]
    matrices: tuple[str, ...]


@cache
def _plain_of(kind: Any) -> _Plain:
    found = [
        p
        for p in kind.bl_rna.properties
        if p.type in _PLAIN and not p.is_readonly and not (p.type == "ENUM" and not p.enum_items_static)
    ]
    arrays = [p for p in found if getattr(p, "is_array", False)]
    rows = [p for p in arrays if p.array_dimensions[1]]
    names = tuple(p.identifier for p in found if p not in arrays)
    return _Plain(
        names,
        # `attrgetter` with one name returns no tuple
        attrgetter(*names) if len(names) > 1 else lambda owner: tuple(getattr(owner, n) for n in names),
        tuple(p.identifier for p in arrays if p not in rows),
        tuple(p.identifier for p in rows),
    )


def _plain_values(owner: Any) -> _Values:
    kind: Any = type(owner)
    plain = _plain_of(kind)
    values = [plain.read(owner)]
    values += [getattr(owner, name)[:] for name in plain.arrays]
    return values + [tuple(map(tuple, getattr(owner, name))) for name in plain.matrices]


def _differing(kind: Any, before: _Values, now: _Values) -> list[tuple[str, Any]]:
    """Return the earlier values, by name, of those properties of a struct of this kind that have changed."""
    if before == now:
        return []
    plain = _plain_of(kind)
    names = (*plain.names, *plain.arrays, *plain.matrices)
    values = zip(names, [*before[0], *before[1:]], [*now[0], *now[1:]], strict=True)
    return [(name, old) for name, old, new in values if old != new]


def _write_back(owner: Any, values: _Values) -> list[str]:
    failed: list[str] = []
    try:
        now = _plain_values(owner)
    except ReferenceError:
        return failed
    for name, before in _differing(type(owner), values, now):
        try:
            setattr(owner, name, before)
        except (AttributeError, TypeError, ValueError) as error:
            failed.append(f"{type(owner).__name__}.{name}: {error}")
    return failed
