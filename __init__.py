# SPDX-License-Identifier: GPL-3.0-or-later
"""MCP Bridge: an AI assistant works in the open scene, the user stays in charge.

`register` and `unregister` walk the list of rooms that have something to register and do nothing else.
Nothing is imported at module level: enabling the extension must stay cheap, and the rooms without `bpy`
must be importable outside Blender.
"""

from __future__ import annotations

from importlib import import_module

#: Rooms with `register()` and `unregister()`, in the order in which they come up.
_ROOMS: tuple[str, ...] = (
    ".base.process.sigpipe",
    ".base.process.threads",
    ".base.folders",
    ".panels.preferences",
    ".base.enabling.going_online",
    ".operators.ending",
    ".operators.command",
    ".operators",
    ".panels",
)


def register() -> None:
    """Bring up every room; a failure takes down what was already up, so that a second try starts clean."""
    done: list[str] = []
    try:
        for room in _ROOMS:
            import_module(room, __package__).register()
            done.append(room)
    except BaseException:
        _unregister(done)
        raise


def unregister() -> None:
    """Take every room down, the last one first."""
    _unregister(list(_ROOMS))


def _unregister(rooms: list[str]) -> None:
    for room in reversed(rooms):
        import_module(room, __package__).unregister()
