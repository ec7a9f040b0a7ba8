# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the values that animation gives the settings of modifiers: Blender sets them while it evaluates, unchecked.

F-curves count with the values of their keyframes and handles. A curve with linear extrapolation, with F-modifiers or
without keyframes also counts at the scene's frames. Drivers count with the values that their variables have now, or
that animation gives these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import bpy

from ...scene import data_paths
from ...scene.keyframes import curves_of_action, strips
from ..guard.audit import may_raise

__all__ = ("Animated", "has_modifiers", "modifiers", "shapes")

_STACKS = ("modifiers", "grease_pencil_modifiers")
_SAMPLES = 250
_DEEPEST = 4
"""How many drivers are followed, each of which reads what the next one writes."""
_ANYTHING = 1_000.0
"""The value of a driver's variable that cannot be read."""
_MATHEMATICS = {name: value for name, value in vars(math).items() if not name.startswith("_")} | {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "round": round,
    "clamp": lambda value, low=0.0, high=1.0: min(max(value, low), high),
    "frame": 0.0,
    "noise": 1.0,
    "lerp": lambda a, b, factor: a + (b - a) * factor,
    "smoothstep": lambda *_bounds: 1.0,
}


def shapes(path: str) -> bool:
    """Return whether a data path may lead to a setting of a modifier."""
    return path.startswith(_STACKS)


class Animated:
    """A modifier whose animated settings have their highest or lowest value, within the limits that Blender sets."""

    def __init__(self, modifier: Any, values: dict[str, list[float]], pick: Callable[..., float]) -> None:
        self._modifier, self._values, self._pick = modifier, values, pick

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._modifier, name)
        found = self._values.get(name)
        if not found:
            return value
        if not isinstance(value, (int, float)):
            return math.nan  # one number of several, or one of several modes: nobody follows which
        made = self._pick(value, *found)
        if isinstance(value, bool):
            return bool(made)
        limits = self._modifier.bl_rna.properties[name]
        return type(value)(min(max(made, limits.hard_min), limits.hard_max))

    def get(self, key: str, default: Any = None) -> Any:
        """Return an input of a node group: a custom property of the modifier before Blender 5.2."""
        return _picked(self._modifier.get(key, default), self._values.get(key), self._pick)

    def input_value(self, key: str, value: Any) -> Any:
        """Return what animation makes of an input of a node group, since Blender 5.2."""
        return _picked(value, self._values.get(key), self._pick)


def _picked(value: Any, found: list[float] | None, pick: Callable[..., float]) -> Any:
    """Return what animation makes of a value, of which an F-curve has these; NaN for a value that is no number."""
    if not found:
        return value
    return pick(value, *found) if isinstance(value, (int, float)) else math.nan


def has_modifiers(user: Any) -> bool:
    """Return whether an object has modifiers, whose settings animation could change."""
    return any(len(getattr(user, stack, ())) for stack in _STACKS)


def modifiers(user: Any, frame: float) -> list[tuple[Any, ...]]:
    """Return the modifiers of an object, each as it is now and as animation may change it, also at `frame`."""
    found = [each for stack in _STACKS for each in getattr(user, stack, ())]
    if user.animation_data is None:
        return [(each,) for each in found]
    values: dict[str, dict[str, list[float]]] = {}
    for curve in _curves(user):
        if not shapes(curve.data_path) or data_paths.bad_data_path(curve.data_path):
            continue
        match data_paths.split_data_path(curve.data_path):
            case (
                [_, (str(modifier),), "properties", "inputs", str(name), *_]  # since Blender 5.2
                | [_, (str(modifier),), (str(name),), *_]
                | [_, (str(modifier),), str(name), *_]
            ):
                values.setdefault(modifier, {}).setdefault(name, []).extend(_values(curve, frame, _DEEPEST))
    return [
        (each, *(Animated(each, values[each.name], pick) for pick in (max, min)))
        if each.name in values
        else (each,)
        for each in found
    ]


def _curves(owner: Any) -> Iterator[Any]:
    """Yield the drivers of a data-block and the F-curves of its actions, of every slot that these have."""
    data = getattr(owner, "animation_data", None)
    if data is None:
        return
    yield from data.drivers
    for action in {data.action, *(strip.action for strip in strips(owner))} - {None}:
        yield from curves_of_action(action)


def _values(curve: Any, frame: float, deeper: int) -> list[float]:
    """Return the lowest and the highest value of an F-curve, or the possible values of a driver."""
    if curve.driver is not None:
        return [_finite(value) for value in _driver_values(curve.driver, frame, deeper)]
    scene = bpy.context.scene
    points = [
        float(at[1]) for key in curve.keyframe_points for at in (key.co, key.handle_left, key.handle_right)
    ]
    if curve.extrapolation == "LINEAR" or len(curve.modifiers) or not points:
        step = max((scene.frame_end - scene.frame_start) // _SAMPLES, 1)
        frames = (frame, scene.frame_current, *range(scene.frame_start, scene.frame_end + 1, step))
        points += [curve.evaluate(each) for each in frames]
    points = [_finite(value) for value in points]
    return [min(points), max(points)]


def _finite(value: float) -> float:
    return min(max(value, -1e9), 1e9) if value == value else 1e9


@may_raise("compile", "exec")
def _driver_values(driver: Any, frame: float, deeper: int) -> list[float]:
    variables = {each.name: _variable_values(each, frame, deeper) for each in driver.variables}
    chosen = list(itertools.islice(itertools.product(*variables.values()), _SAMPLES))
    if driver.type != "SCRIPTED":
        return [(sum if driver.type == "SUM" else max)(values) if values else 0.0 for values in chosen]
    if data_paths.bad_expression(driver.expression):
        return []  # no script may write this expression: the modifier already has its value
    code = compile(driver.expression.strip() or "0", "<driver>", "eval")
    frames = (frame, float(bpy.context.scene.frame_current), float(bpy.context.scene.frame_end))
    return [
        _evaluate(code, {"frame": at} | dict(zip(variables, values, strict=True)))
        for values, at in itertools.product(chosen, frames)
    ]


def _evaluate(code: CodeType, names: dict[str, float]) -> float:
    """Return the value of a driver's expression, in which `data_paths.bad_expression` found nothing but mathematics."""
    try:
        return float(eval(code, {"__builtins__": {}}, _MATHEMATICS | names))  # noqa: S307 - mathematics alone
    except Exception:  # Blender has a function that is not known here, or also reports an error
        return _ANYTHING


def _variable_values(variable: Any, frame: float, deeper: int) -> list[float]:
    target = variable.targets[0]
    if variable.type != "SINGLE_PROP" or not deeper:
        return [0.0, _ANYTHING]
    if target.id is None:
        return [0.0]
    try:
        found = [float(target.id.path_resolve(target.data_path))]
    except (TypeError, ValueError):  # Blender takes a path that leads nowhere for 0
        found = [0.0]
    for curve in _curves(target.id):
        if target.data_path.startswith(curve.data_path):
            found += _values(curve, frame, deeper - 1)
    return [min(found), max(found)] if len(found) > 1 else found
