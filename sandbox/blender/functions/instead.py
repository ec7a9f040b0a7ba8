# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of Blender's that are done in another way: they free something only where they say so themselves."""

from __future__ import annotations

from typing import Any

import bpy

from ...guard.seam import BlenderHost, Reader
from .. import matrix_layers

__all__ = ("INSTEAD",)

_OF_WINDOWS = (bpy.types.Screen, bpy.types.WindowManager, bpy.types.WorkSpace)
_REROUTE = bpy.types.NodeReroute


def _new_link(host: BlenderHost, links: Any, _name: str) -> Any:
    """`NodeLinks.new`: an input that has one link loses it to the new one, and a reroute takes the other's type."""

    def new(*args: Any, **kwargs: Any) -> Any:
        before, moves = len(links), True
        try:
            link = links.new(*args, **kwargs)
            # by their classes: for `type` Blender lists all types of nodes
            moves = len(links) <= before or _REROUTE in (type(link.from_node), type(link.to_node))
            if "handle_dynamic_sockets" in kwargs:  # it is no positional argument
                matrix_layers.check_link(host, link)
            return link
        finally:
            if moves:
                host.stale.sweep(of=links.id_data)

    return new


def _new_socket(host: BlenderHost, interface: Any, _name: str) -> Any:
    """`NodeTreeInterface.new_socket`: the group's nodes get others; mostly there are none yet, in it or of it."""

    def new_socket(*args: Any, **kwargs: Any) -> Any:
        tree, socket = interface.id_data, None
        try:
            socket = interface.new_socket(*args, **kwargs)
            matrix_layers.check_output(host, socket)
            return socket
        finally:
            if tree.users or tree.nodes:
                host.stale.sweep((socket, interface), of=tree)

    return new_socket


def _curve_update(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`FCurve.update`: keyframes in one place become one, and all move to another array."""
    native = owner.update

    def update(*args: Any, **kwargs: Any) -> None:
        try:
            native(*args, **kwargs)
        finally:
            host.stale.after_key()

    return update


def _copy(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`ID.copy`: a copy shares what it can with what it is of."""
    native = owner.copy
    if isinstance(owner, _OF_WINDOWS):
        host.refuse(
            f"{owner!r} belongs to the user's session, not to the scene: leave it as it is", code="member"
        )

    def copy(*args: Any, **kwargs: Any) -> Any:
        host.stale.before_sharing()
        try:
            return native(*args, **kwargs)
        finally:
            host.stale.after_sharing()

    return copy


INSTEAD: dict[str, Reader] = {
    "ID.copy": _copy,
    "FCurve.update": _curve_update,
    "NodeLinks.new": _new_link,
    "NodeTreeInterface.new_socket": _new_socket,
}
"""By `Struct.function`, what gives the function that a script gets."""
