# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that every struct of Blender's has: keyframes, drivers, data paths, and the reset of a property."""

from __future__ import annotations

from typing import Any

from ....scene import data_paths
from ...guard.seam import BlenderHost
from .. import blocks
from ..layers.names import check_flag
from ..plain_values import all_as_plain, as_plain, numbers_to_read
from ..properties.limits import check_items
from .checks import check_path
from .finite import check_plain_numbers

__all__ = ("array_foreach_set", "driver", "find", "keyframe", "path_resolve", "property_unset")


def keyframe(host: BlenderHost, owner: Any, name: str) -> Any:
    """Return the guarded `keyframe_insert` or `keyframe_delete`."""
    function = getattr(owner, name)

    def call(data_path: str, *args: Any, **kwargs: Any) -> Any:
        data_path = as_plain(data_path)
        args, kwargs = all_as_plain(args, kwargs)
        check_plain_numbers(name, *args, *kwargs.values())
        check_path(host, data_path, owner)
        try:
            return function(data_path, *args, **kwargs)
        finally:
            if name == "keyframe_insert":
                host.stale.after_key()
            else:
                host.stale.sweep(of=owner.id_data)  # Blender removes a curve with its last keyframe

    return call


def driver(host: BlenderHost, owner: Any, name: str) -> Any:
    """Return the guarded `driver_add` or `driver_remove`: they check the path; a writer checks the expression."""
    function = getattr(owner, name)

    def call(path: str, index: int = -1) -> Any:
        path = as_plain(path)
        check_path(host, path, owner)
        try:
            return function(path, index)
        finally:
            if name == "driver_remove":
                host.stale.sweep(of=owner.id_data)

    return call


def path_resolve(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return the guarded `path_resolve`: it walks the path with the guard, so that it reaches what attributes reach."""

    def call(path: str, coerce: bool = True) -> Any:
        try:
            steps = data_paths.split_data_path(path)
        except ValueError as error:
            host.refuse(str(error))
        value = owner
        for step in steps:
            if isinstance(step, str):
                value = host.getattr(value, step) if host.owns(type(value)) else getattr(value, step)
            else:
                key = step[0] if isinstance(step, tuple) else step
                value = host.getitem(value, key) if host.owns(type(value)) else value[key]
        return value

    return call


def property_unset(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return the guarded `property_unset`: a reset is checked like any other write."""

    def call(property: str) -> None:  # noqa: A002 - Blender's own name of the parameter
        if type(property) is not str:
            raise TypeError(f"property_unset() takes a str, not {type(property).__name__}")
        access = host.members.access(type(owner), property)
        blocks.check_original(host, owner)
        if access.write is None:
            host.refuse(f"{type(owner).__name__}.{property} may not be reset by a script: {access.why}")
        check_flag(host, owner, f"{type(owner).__name__}.{property}")
        try:
            with host.stale.layers.keep(owner):
                owner.property_unset(property)
        finally:
            if not access.many:  # a property of which Blender may write many frees nothing
                host.stale.sweep(of=owner.id_data)

    return call


def find(_host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `find` of a collection; where a name is no valid text, Blender would go on with Python's error set."""

    def find(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = all_as_plain(args, kwargs)
        for value in (*args, *kwargs.values()):
            if type(value) is str:
                value.encode()
        return owner.find(*args, **kwargs)

    return find


def array_foreach_set(_host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `foreach_set` of a writable array; scripts get read-only arrays as copies."""
    return lambda seq: owner.foreach_set(check_items(owner, numbers_to_read(seq, "foreach_set")))
