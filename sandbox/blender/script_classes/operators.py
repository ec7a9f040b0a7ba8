# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an operator that the script itself defines: its `poll` and its `execute`, like any function of the script."""

from __future__ import annotations

import re
from typing import Any, Final

import bpy

from ...guard.seam import BlenderHost
from . import values

__all__ = ("as_keywords", "can_run", "idname", "run")

_IDNAME: Final = re.compile(r"[a-z0-9_]{1,40}\.[a-z0-9_]{1,60}")


def idname(kind: type) -> str:
    """Return the `bl_idname` of a class. Raises Blender's error if it is missing or not valid."""
    found = getattr(kind, "bl_idname", None)
    if type(found) is not str or not _IDNAME.fullmatch(found):
        raise RuntimeError(
            f"Error: Registering operator class: {kind.__name__!r}, its bl_idname has to be a text such as "
            "'object.my_operator'"
        )
    if type(getattr(kind, "bl_label", None)) is not str:
        raise AttributeError(f'expected Operator, {kind.__name__} class to have an "bl_label" attribute')
    return found


def can_run(kind: Any) -> bool:
    """Return whether the operator's `poll` allows it to run."""
    poll = getattr(kind, "poll", None)
    return poll is None or bool(poll(bpy.context))


def run(
    host: BlenderHost, name: str, kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]
) -> set[str]:
    """Run `bpy.ops.<name>(…)`. Raises RuntimeError if `poll` says no, or if `execute` reported an error."""
    host.meter.tick()
    if not can_run(kind):
        raise RuntimeError(f"Operator bpy.ops.{name}.poll() failed, context is incorrect")
    if any(type(each) is str and each.startswith("INVOKE") for each in arguments):
        host.meter.warn(f"bpy.ops.{name}() ran as 'EXEC_DEFAULT': a script does not wait for the user")
    known = values.of(kind)
    unknown = next((each for each in named if each not in known), None)
    if unknown is not None:
        raise TypeError(f'Converting py args to operator properties:: keyword "{unknown:.60}" unrecognized')
    if not hasattr(kind, "execute"):
        host.meter.warn(f"bpy.ops.{name}() did nothing: its class has no execute()")
        return {"PASS_THROUGH"}
    instance = kind()
    for each, value in named.items():
        setattr(instance, each, value)
    return _execute(host, name, instance)


def _execute(host: BlenderHost, name: str, instance: Any) -> set[str]:
    errors = host.script_classes.errors
    outer, errors[:] = errors[:], []
    try:
        result = instance.execute(bpy.context)
        reported = errors[:]
    finally:
        errors[:] = outer
    if type(result) is not set or not all(type(each) is str for each in result):
        raise RuntimeError(
            f"Error: Python: RuntimeError: class {type(instance).__name__}, function execute: incompatible return "
            f"value, expected a set, not a {type(result).__name__}"
        )
    if reported:
        raise RuntimeError("".join(f"Error: {each}\n" for each in reported))
    if "RUNNING_MODAL" in result:
        host.meter.warn(f"bpy.ops.{name}() goes on with no event: a script does not wait for the user")
    return result


def as_keywords(instance: Any, *, ignore: Any = ()) -> dict[str, Any]:
    """Return the properties of `Operator.as_keywords` by name."""
    left_out = {each for each in ignore if type(each) is str}
    return {name: getattr(instance, name) for name in values.of(type(instance)) if name not in left_out}
