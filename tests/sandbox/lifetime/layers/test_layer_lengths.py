# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script may write to the items of a mesh stays within its layer: Blender itself makes some too short.

Blender 4.2 to 4.5 give a layer of flags of corners one entry for each face, and then write one for each corner. On a
mesh whose one face has many corners that overwrites the memory behind the layer, which `free` notices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_MANY = 200_000
_SHAPES: dict[str, tuple[int, list[tuple[int, int]], list[range]]] = {
    "one face of many corners": (_MANY, [], [range(_MANY)]),
    "many loose points": (_MANY, [(0, 1)], [range(3)]),
    "many edges between few points": (3, [(0, 1)] * _MANY, [range(3)]),
    "many faces of few points": (3, [], [range(3)] * _MANY),
}
"""For each the number of points, the edges and the faces: in each another layer is the long one."""


def _mesh(points: int, edges: list[tuple[int, int]], faces: list[range]) -> Any:
    mesh = bpy.data.meshes.new("mesh")
    mesh.from_pydata([(0, 0, 0)] * points, edges, faces)
    made = mesh.attributes.get(".select_edge")
    # Blender 5.0.1 makes it of another type: see blender/layers/test_names.py
    if made is not None and made.data_type != "BOOLEAN":
        mesh.attributes.remove(made)
    mesh.uv_layers.new(name="uv")
    mesh.color_attributes.new("color", "BYTE_COLOR", "CORNER")
    return mesh


def _collections(mesh: Any) -> Iterator[tuple[str, Any]]:
    """The collections of a mesh and of its first layers that a script may read, each with its path."""
    owners = {"": mesh, "uv_layers[0].": mesh.uv_layers[0], "vertex_colors[0].": mesh.vertex_colors[0]}
    for path, owner in owners.items():
        for prop in owner.bl_rna.properties:
            if prop.type == "COLLECTION" and prop.identifier in policy("blender").readable(
                owner.bl_rna.identifier
            ):
                yield path + prop.identifier, getattr(owner, prop.identifier)


def _values() -> list[tuple[str, str, str]]:
    """For each mesh, the flags and numbers of its collections' items, as struct, path and property."""
    return [
        (items[0].bl_rna.identifier, path, prop.identifier)
        for path, items in _collections(_mesh(*_SHAPES["many loose points"]))
        if len(items)
        for prop in items[0].bl_rna.properties
        if prop.type in ("BOOLEAN", "INT", "FLOAT") and not prop.is_readonly
    ]


def _write(case: tuple[str, str, str]) -> str:
    """Write a property of all items of one collection, then free the mesh and what lies about it."""
    shape, path, name = case
    mesh = _mesh(*_SHAPES[shape])
    items = dict(_collections(mesh)).get(path, ())
    if len(items):
        length = items[0].bl_rna.properties[name].array_length or 1
        with contextlib.suppress(RuntimeError):  # Blender itself refuses arrays whose length differs by item
            items.foreach_set(name, [1] * (len(items) * length))
    bpy.data.meshes.remove(mesh)
    for _ in range(100):
        bpy.data.meshes.remove(_mesh(3, [(0, 1)], [range(3)]))
    return "whole"


def _written(
    values: list[tuple[str, str, str]], shapes: Iterable[str] = _SHAPES
) -> dict[tuple[str, str, str], str]:
    cases = [(shape, path, name) for _struct, path, name in values for shape in shapes]
    return dict(zip(cases, map(str, fork.run_each(_write, cases, timeout=20.0)), strict=True))


def test_what_a_script_may_write_of_a_mesh_stays_within_its_layer() -> None:
    allowed = [each for each in _values() if each[2] in policy("blender").writable(each[0])]
    assert len({struct for struct, _path, _name in allowed}) >= 5
    assert {case: end for case, end in _written(allowed).items() if end != "whole"} == {}


def test_in_plain_blender_flags_of_corners_are_written_past_their_layer() -> None:
    """The test above could not fail where no end is seen of what a script may not write."""
    refused = [each for each in _values() if each[0] == "MeshUVLoop" and each[2] != "uv"]
    assert refused
    # A fork whose memory is broken ends by a signal, or waits for itself until its time is over.
    ends = _written(refused, ["one face of many corners"])
    broken = {name for (_shape, _path, name), end in ends.items() if end != "whole"}
    assert broken == ({name for *_, name in refused} if bpy.app.version < (5, 0) else set())


@pytest.mark.parametrize("name", ["pin_uv", "select", "select_edge"])
def test_each_way_to_write_a_flag_of_a_corner_is_refused_and_says_what_to_use(name: str) -> None:
    if name not in bpy.types.MeshUVLoop.bl_rna.properties:
        pytest.skip(f"this Blender has no MeshUVLoop.{name}")
    ways = {
        f"corners[0].{name} = True",
        f"setattr(corners[0], {name!r}, True)",
        f"corners.foreach_set({name!r}, [True] * len(corners))",
        f"corners[0].property_unset({name!r})",
        f"corners[0].keyframe_insert({name!r})",
        f"mesh.keyframe_insert('uv_layers[0].data[23].{name}')",
        f"mesh.driver_add('uv_layers[0].data[23].{name}')",
    }
    start = "import bpy\nmesh = bpy.data.objects['Cube'].data\ncorners = mesh.uv_layers[0].data\n"
    for way in ways:
        with pytest.raises(Exception, match=rf"MeshUVLoop\.{name}.*use bmesh, loop\[uv_layer\]\.{name}"):
            result(start + way)
