# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that do something else in a script: loading the start-up file empties the scene, rendering only warns.

Each does what a script's author means by it, within the script's undo step. The result says what was not done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import bpy

from ....scene.override import pausing_override
from ...facts.reasons import instead_of
from ...guard.facade import bind
from ...guard.seam import BlenderHost
from ..blocks import SESSION, check_given
from . import start_up

__all__ = ("INSTEAD", "batch_remove", "orphans_purge", "user_clear")

Arguments = Mapping[str, Any]


def _render(host: BlenderHost, arguments: Arguments) -> set[str]:
    tool = "render_animation" if arguments.get("animation") else "render_image"
    host.meter.warn(
        f"bpy.ops.render.render() did nothing: rendering would block Blender; call the tool {tool} after the script"
    )
    return {"CANCELLED"}


def _opengl(host: BlenderHost, _arguments: Arguments) -> set[str]:
    host.meter.warn(
        "bpy.ops.render.opengl() did nothing: a script may not write files; call the tool get_viewport_screenshot"
    )
    return {"CANCELLED"}


def _bake(host: BlenderHost, arguments: Arguments) -> set[str]:
    """Simulate the cache of the context frame by frame: Blender's own operator could not be stopped."""
    cache = getattr(bpy.context, "point_cache", None)
    if not isinstance(cache, bpy.types.PointCache):
        raise RuntimeError(
            "bpy.ops.ptcache.bake(): give temp_override(point_cache=…), or use bake_all(bake=True)"
        )
    return _simulate(host, [cache], bool(arguments.get("bake")))


def _bake_all(host: BlenderHost, arguments: Arguments) -> set[str]:
    return _simulate(host, list(_caches(bpy.context.scene)), bool(arguments.get("bake", True)))


def _caches(scene: Any) -> Iterator[Any]:
    """Yield the caches of all simulations in a scene."""
    owners = [scene.rigidbody_world] if scene.rigidbody_world is not None else []
    for found in scene.objects:
        owners += [*found.particle_systems, *found.modifiers]
    for owner in owners:
        for part in (owner, *getattr(getattr(owner, "canvas_settings", None), "canvas_surfaces", ())):
            cache = getattr(part, "point_cache", None)
            if cache is not None:
                yield cache


def _simulate(host: BlenderHost, caches: list[Any], keep: bool) -> set[str]:
    """Step through the frames, as the script could itself; if `keep`, have Blender bake the caches."""
    if not caches:
        return {"CANCELLED"}
    scene: Any = bpy.context.scene
    before = scene.frame_current
    frames = range(min(each.frame_start for each in caches), max(each.frame_end for each in caches) + 1)
    host.before_operator("ptcache.bake")
    try:
        for frame in (*frames, before):
            host.meter.tick()
            host.geometry.check_touched(float(frame))
            scene.frame_set(frame)
        for cache in caches if keep else ():
            with pausing_override(point_cache=cache):
                bpy.ops.ptcache.bake_from_cache()
    finally:
        host.after_operator("ptcache.bake")
    return {"FINISHED"}


def _skip(idname: str) -> Callable[[BlenderHost, Arguments], set[str]]:
    """Return a function for an operator that changes nothing but the user's window or preferences: it only warns."""

    def act(host: BlenderHost, _arguments: Arguments) -> set[str]:
        host.meter.warn(f"bpy.ops.{idname}(): {instead_of()[idname]}")
        return {"FINISHED"}

    return act


_LEFT_OUT: Final = (
    *("screen.animation_cancel", "screen.animation_play", "screen.screen_full_area"),
    *("wm.read_userpref", "wm.redraw_timer"),
)


def _start_up(host: BlenderHost, arguments: Arguments) -> set[str]:
    """Empty the file, or fill it like the start-up file, with its cube, camera and light."""
    host.meter.warn(
        "the start-up file was not read: the script emptied this file instead, within its undo step, and left the "
        "user's preferences alone"
    )
    host.overrides.end()
    use_empty = bool(arguments.get("use_empty"))
    _with_removal(host, functools.partial(start_up.empty, keep_renders=not use_empty))
    if not use_empty:
        start_up.fill()
    return {"FINISHED"}


def _with_removal(host: BlenderHost, act: Callable[[], Any]) -> Any:
    """Call `act`, which removes data-blocks, and invalidate what the script holds of them."""
    references = host.stale
    with references.one_moment():
        references.before_removal()
        try:
            return act()
        finally:
            references.after_removal()
            references.sweep()
            host.overrides.drop_removed()


def orphans_purge(host: BlenderHost, owner: Any, _name: str) -> Callable[..., int]:
    """Return the script's `BlendData.orphans_purge`."""
    return bind(_purge_orphans, (host, owner))


def _purge_orphans(bound: tuple[BlenderHost, Any], **options: Any) -> int:
    flags = {name: bool(value) for name, value in options.items()}
    return int(_with_removal(bound[0], lambda: bpy.data.orphans_purge(**flags)))


def batch_remove(host: BlenderHost, owner: Any, _name: str) -> Callable[..., None]:
    """Return the script's `BlendData.batch_remove`."""
    return bind(_remove, (host, owner))


def _remove(bound: tuple[BlenderHost, Any], ids: Any) -> None:
    host, blocks = bound[0], list(ids)
    for block in blocks:
        if not isinstance(block, bpy.types.ID):
            raise TypeError(f"batch_remove() takes data-blocks, not {type(block).__name__}")
        check_given(block, "batch_remove()")
        if isinstance(block, (*SESSION, bpy.types.Scene)) or host.overrides.held(block):
            host.refuse(
                f"batch_remove() of {block.name!r}: it belongs to the user's session, or is in use: leave it out"
            )
    _with_removal(host, lambda: bpy.data.batch_remove(blocks))


def user_clear(host: BlenderHost, owner: Any, _name: str) -> Callable[[], None]:
    """Return the script's `ID.user_clear`, which only warns."""
    return bind(_keep_users, (host, owner))


def _keep_users(bound: tuple[BlenderHost, Any]) -> None:
    host, block = bound
    _ = block.name  # Blender's own error if it was removed
    host.meter.warn(
        "user_clear() did nothing: Blender would crash where something still uses the data-block; to remove it, call "
        ".remove() of its collection in bpy.data; so that Blender does not save it, set use_fake_user = False"
    )


def _purge(host: BlenderHost, arguments: Arguments) -> set[str]:
    options = {name: bool(value) for name, value in arguments.items() if name in _OF_PURGE}
    return {"FINISHED"} if _purge_orphans((host, None), **options) else {"CANCELLED"}


_OF_PURGE: Final = frozenset({"do_local_ids", "do_linked_ids", "do_recursive"})

INSTEAD: Final[Mapping[str, Callable[[BlenderHost, Arguments], set[str]]]] = {
    "outliner.orphans_purge": _purge,
    "ptcache.bake": _bake,
    "ptcache.bake_all": _bake_all,
    "render.opengl": _opengl,
    "render.render": _render,
    "wm.read_factory_settings": _start_up,
    "wm.read_homefile": _start_up,
    **{idname: _skip(idname) for idname in _LEFT_OUT},
}
"""What a call of each operator does in a script, by its name; `facts/reasons.json` has the words of validation."""
