# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a new data-block in one line: its contents, and the settings that differ from those of a new one.

Use it only in a Blender that may be changed, such as the one of a rehearsal: it makes new nodes to compare with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import bpy

from ..keyframes import curves_of_action
from ..nodes import tree as node_tree
from .values import custom_properties, settings_of, value_of

__all__ = ("detail",)

#: Limits: names of one kind, values of one item, nodes of a tree that is examined, and characters of one value.
_MOST_NAMES, _MOST_VALUES, _MOST_NODES, _LONGEST_VALUE = 8, 8, 60, 40
#: Nodes that are not worth a mention.
_PLUMBING = (
    *("ShaderNodeOutput", "NodeGroupInput", "NodeGroupOutput", "NodeFrame", "NodeReroute"),
    *("CompositorNodeComposite", "CompositorNodeViewer", "TextureNodeOutput"),
)
_SHADER = "Principled BSDF"
#: Type -> properties to mention where they differ from those of a new data-block.
_TELLING: tuple[tuple[type, str], ...] = (
    (bpy.types.Camera, "type ortho_scale clip_start clip_end shift_x shift_y"),
    (bpy.types.SpotLight, "spot_size spot_blend"),
    (bpy.types.AreaLight, "shape size size_y"),
    (bpy.types.TextCurve, "size extrude bevel_depth align_x align_y"),
    (bpy.types.Curve, "dimensions extrude bevel_depth bevel_resolution resolution_u twist_mode"),
    (bpy.types.MetaBall, "resolution threshold"),
    (bpy.types.Lattice, "points_u points_v points_w"),
    (bpy.types.Scene, "frame_start frame_end"),
)


def detail(item: Any) -> str:
    """Return the description of a data-block; empty if there is nothing to report."""
    tell = next((tell for kind, tell in _DETAILS if isinstance(item, kind)), None)
    parts = list(tell(item)) if tell else []
    parts += next((_set(item, names.split()) for kind, names in _TELLING if isinstance(item, kind)), [])
    custom = [f"{key} {_short(value)}" for key, value in custom_properties(item)]
    if custom:
        parts.append(f"custom {_few('property', 'properties', custom)}")
    return ", ".join(part for part in parts if part)


def _object(item: Any) -> Iterator[str]:
    yield item.type.lower().replace("_", " ")
    yield f"at ({_numbers(item.matrix_world.translation, ', ')})"
    turned = [math.degrees(angle) for angle in item.matrix_world.to_euler()]
    if any(abs(angle) > 0.05 for angle in turned):
        yield f"rotated ({', '.join(f'{round(angle, 1) + 0:g}°' for angle in turned)})"
    if item.type == "MESH":
        yield f"size {_numbers(item.dimensions, ' × ')}"
    materials = [slot.material.name for slot in item.material_slots if slot.material]
    if materials:
        yield _few("material", "materials", materials)
    for word, owned in (("modifier", item.modifiers), ("constraint", item.constraints)):
        if owned:
            yield _few(word, f"{word}s", map(_with_settings, owned))
    if item.parent is not None:
        yield f"child of {item.parent.name}"
    if item.hide_render:
        yield "hidden in renders"


def _with_settings(item: Any) -> str:
    """Return the name of a modifier or constraint, with its settings that differ from the defaults."""
    told = [f"{_word(name)} {_short(value)}" for name, value in settings_of(item).items()]
    return f"{item.name} ({', '.join(told[:_MOST_VALUES])})" if told else str(item.name)


def _mesh(item: Any) -> Iterator[str]:
    yield f"{len(item.vertices):,} vertices, {len(item.polygons):,} faces"
    if item.shape_keys:
        yield _few("shape key", "shape keys", item.shape_keys.key_blocks.keys())


def _material(item: Any) -> Iterator[str]:
    """Yield the settings of a Principled BSDF without the node's name, since every new material has one."""
    if node_tree.is_unused("material", item):
        yield f"without nodes, color {_short(value_of(item.diffuse_color))}"
        return
    text = _nodes(item.node_tree) if item.node_tree else ""
    if item.node_tree and len(item.node_tree.nodes) > 2:
        yield _count(len(item.node_tree.nodes), "node")
    yield "" if text == _SHADER else text.removeprefix(f"{_SHADER}: ")


def _world(item: Any) -> Iterator[str]:
    if not node_tree.is_unused("world", item) and item.node_tree:
        yield _nodes(item.node_tree)


def _nodes(tree: Any) -> str:
    """Describe every node with its links and changed settings; the usual shader comes first."""
    if len(tree.nodes) > _MOST_NODES:
        return ""
    told = node_tree.read(tree)
    entering: dict[str, list[str]] = {}
    for source, _, target, socket, *_ in told["links"]:
        entering.setdefault(target, []).append(f"{_word(socket)} from {source}")
    parts = []
    for node in sorted(told["nodes"], key=lambda node: not node["name"].startswith(_SHADER)):
        if node["type"].startswith(_PLUMBING):
            continue
        values = {**node.get("inputs", {}), **node.get("properties", {})}
        said = [f"{_word(name)} {_short(value)}" for name, value in values.items()]
        said += entering.get(node["name"], []) if len(told["nodes"]) > 2 else []
        parts.append(f"{node['name']}: {', '.join(said[:_MOST_VALUES])}" if said else node["name"])
    return _some(parts, "; ")


def _light(item: Any) -> Iterator[str]:
    yield item.type.lower()
    yield f"strength {item.energy:g}" if item.type == "SUN" else f"{item.energy:g} W"
    color = value_of(item.color)
    if color != [1.0, 1.0, 1.0]:
        yield f"color {_short(color)}"


def _camera(item: Any) -> Iterator[str]:
    if item.type == "PERSP":
        yield f"{item.lens:g} mm"
    if item.dof.use_dof:
        yield f"in focus at {item.dof.focus_object.name if item.dof.focus_object else _short(item.dof.focus_distance)}"


def _action(item: Any) -> Iterator[str]:
    curves = list(curves_of_action(item))
    paths = Counter(curve.data_path for curve in curves)
    yield f"frames {_numbers(item.frame_range, ' to ')}"
    yield _count(sum(len(curve.keyframe_points) for curve in curves), "key")
    if paths:
        yield "of " + _some([f"{path} × {count}" if count > 1 else path for path, count in paths.items()])


def _text(item: Any) -> Iterator[str]:
    first = next((line.body.strip() for line in item.lines if line.body.strip()), "")
    yield _count(len(item.lines), "line") + (f", beginning {_short(first)!r}" if first else "")


def _collection(item: Any) -> Iterator[str]:
    names = item.all_objects.keys()
    yield _count(len(names), "object") + (f": {_some(names)}" if names else "")


_DETAILS: tuple[tuple[type, Callable[[Any], Iterable[str]]], ...] = (
    (bpy.types.Object, _object),
    (bpy.types.Mesh, _mesh),
    (bpy.types.Material, _material),
    (bpy.types.World, _world),
    (bpy.types.NodeTree, lambda item: (_count(len(item.nodes), "node"), _nodes(item))),
    (bpy.types.Image, lambda item: (f"{_numbers(item.size, ' × ')} pixels",)),
    (bpy.types.Light, _light),
    (bpy.types.Camera, _camera),
    (bpy.types.Collection, _collection),
    (bpy.types.Action, _action),
    (bpy.types.Text, _text),
    (bpy.types.TextCurve, lambda item: (repr(_short(item.body)),)),
    (bpy.types.Armature, lambda item: (_few("bone", "bones", item.bones.keys()),)),
)


def _set(item: Any, names: Iterable[str]) -> list[str]:
    """Return the values of a data-block that differ from those of a new one."""
    found = []
    for name in names:
        prop = item.rna_type.properties.get(name)
        if prop is not None and value_of(getattr(item, name)) != value_of(prop.default):
            found.append(f"{_word(name)} {_short(value_of(getattr(item, name)))}")
    return found


def _few(one: str, many: str, names: Iterable[str]) -> str:
    """Return a word for the kind of thing, and some of the names."""
    found = list(names)
    return f"{one if len(found) == 1 else many} {_some(found)}" if found else ""


def _some(names: Iterable[str], between: str = ", ") -> str:
    found = list(names)
    more = f" and {len(found) - _MOST_NAMES:,} more" if len(found) > _MOST_NAMES else ""
    return between.join(found[:_MOST_NAMES]) + more


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def _word(name: str) -> str:
    """Return the name of a socket or property in lower case and plain letters."""
    return name.lstrip("@").replace("_", " ").replace("#", " ").lower()


def _short(value: Any) -> str:
    """Return a short text for a value; an opaque color has three numbers."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return (
            f"{round(value, 3) + 0:g}"
            if abs(value) < 1e6 and (value == 0 or abs(value) >= 1e-3)
            else f"{value:.3g}"
        )
    if isinstance(value, list) and len(value) <= 4 and all(isinstance(part, int | float) for part in value):
        return " ".join(map(_short, value[:3] if len(value) == 4 and value[3] == 1 else value))
    if isinstance(value, dict | list):
        return "changed"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _numbers(vector: Iterable[float], between: str) -> str:
    return between.join(f"{round(number, 3) + 0:g}" for number in vector)
