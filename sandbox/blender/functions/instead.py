# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of Blender's with another form for scripts: each looks only for what it really frees or moves."""

from __future__ import annotations

from typing import Any

import bpy

from ...guard.seam import BlenderHost, Reader
from ..layers import matrices

__all__ = ("INSTEAD",)

_OF_WINDOWS = (bpy.types.Screen, bpy.types.WindowManager, bpy.types.WorkSpace)
_REROUTE = bpy.types.NodeReroute


def _new_link(host: BlenderHost, links: Any, _name: str) -> Any:
    """Return `NodeLinks.new`: a new link may replace an input's old one, and change the type of a reroute."""

    def new(*args: Any, **kwargs: Any) -> Any:
        host.geometry.zone()
        before, moves = len(links), True
        try:
            link = links.new(*args, **kwargs)
            # uses their classes: for `type` Blender lists all types of nodes
            moves = len(links) <= before or _REROUTE in (type(link.from_node), type(link.to_node))
            if "handle_dynamic_sockets" in kwargs:  # it is no positional argument
                matrices.check_link(host, link)
            return link
        finally:
            if moves:
                host.stale.sweep(of=links.id_data)

    return new


def _new_socket(host: BlenderHost, interface: Any, _name: str) -> Any:
    """Return `NodeTreeInterface.new_socket`: it replaces sockets of the group's nodes; mostly there are none yet."""

    def new_socket(*args: Any, **kwargs: Any) -> Any:
        tree, socket = interface.id_data, None
        try:
            socket = interface.new_socket(*args, **kwargs)
            matrices.check_output(host, socket)
            return socket
        finally:
            if tree.users or tree.nodes:
                host.stale.sweep((socket, interface), of=tree)

    return new_socket


def _curve_update(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `FCurve.update`: it merges keyframes at the same frame, and moves all of them to another array."""
    native = owner.update

    def update(*args: Any, **kwargs: Any) -> None:
        try:
            native(*args, **kwargs)
        finally:
            host.stale.after_key()

    return update


def _copy(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `ID.copy`: a copy shares arrays with its original, and is as large."""
    native = owner.copy
    if isinstance(owner, _OF_WINDOWS):
        host.refuse(
            f"{owner!r} belongs to the user's session, not to the scene: leave it as it is", code="member"
        )

    def copy(*args: Any, **kwargs: Any) -> Any:
        host.stale.before_sharing()
        try:
            made = native(*args, **kwargs)
        finally:
            host.stale.after_sharing()
        host.geometry.copied(owner, made)
        return made

    return copy


INSTEAD: dict[str, Reader] = {
    "ID.copy": _copy,
    "FCurve.update": _curve_update,
    "NodeLinks.new": _new_link,
    "NodeTreeInterface.new_socket": _new_socket,
}
"""Readers of the functions that scripts get instead, by `Struct.function`."""
