# SPDX-License-Identifier: GPL-3.0-or-later
"""References to parts of what was removed say so, and those to what is still there stay."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import existing, stale
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork

_TREE = "import bpy\nt = bpy.data.node_groups.new('t', '{0}NodeTree')\nn = t.nodes.new('{0}Node{1}')\n"
_RAMP = _TREE.format("Shader", "ValToRGB")
_CURVES = _TREE.format("Shader", "RGBCurve")
_NOISE = _TREE.format("Shader", "TexNoise")
_ITEMS = _TREE.format("Geometry", "MenuSwitch") + "y = [n.enum_items.new(str(i)) for i in range(2)]\n"
_OBJECT = "import bpy\no = bpy.context.object\ns = bpy.context.scene\nv = bpy.context.view_layer\n"
_DRIVER = _OBJECT + "f = o.driver_add('location', 0)\n"
_CHILD = _OBJECT + "c = bpy.data.collections.new('c')\ns.collection.children.link(c)\n"
_MODIFIER = _OBJECT + "m = o.modifiers.new('m', '{}')\n"
_SLOT = _MODIFIER.format("PARTICLE_SYSTEM") + "p = o.particle_systems[0].settings\n"

_WORLD, _NO_WORLD = (
    _OBJECT + "s.rigidbody_world or bpy.ops.rigidbody.world_add()\n",
    "bpy.ops.rigidbody.world_remove()",
)
#: Of these an object has one.
_SINGLE = (
    _OBJECT + "m = next((e for e in o.modifiers if e.type == '{0}'), None) or o.modifiers.new('m', '{0}')\n"
)
_SOFT, _CLOTH = _SINGLE.format("SOFT_BODY"), _SINGLE.format("CLOTH")

#: What it needs, the reference, what removes it, how it is used.
GONE = {
    "ramp": (_RAMP, "n.color_ramp", "t.nodes.remove(n)", "x.color_mode"),
    "ramp-element": (_RAMP, "n.color_ramp.elements[0]", "t.nodes.remove(n)", "x.position = 0.5"),
    "curve": (_CURVES, "n.mapping.curves[0]", "t.nodes.remove(n)", "len(x.points)"),
    "curve-point": (_CURVES, "n.mapping.curves[0].points[0]", "n.mapping.curves[0].points.new(0.2, 0.5)", "x.location"),
    "texture-mapping": (_NOISE, "n.texture_mapping", "t.nodes.remove(n)", "x.vector_type"),
    "node-item": (_ITEMS, "n.enum_items[0]", "n.enum_items.new('z')", "x.name"),
    "bevel-profile": (_MODIFIER.format("BEVEL"), "m.custom_profile", "o.modifiers.remove(m)", "x.use_clip"),
    "falloff": (_MODIFIER.format("HOOK"), "m.falloff_curve", "o.modifiers.remove(m)", "x.use_clip"),
    "projector": (_MODIFIER.format("UV_PROJECT"), "m.projectors[0]", "o.modifiers.clear()", "x.object"),
    "f-modifier": (_DRIVER, "f.modifiers.new('NOISE')", "o.driver_remove('location', 0)", "x.scale"),
    "driver": (_DRIVER, "f.driver", "o.driver_remove('location', 0)", "x.expression"),
    "target": (_DRIVER, "f.driver.variables.new().targets[0]", "o.driver_remove('location', 0)", "x.id"),
    "animation": (_OBJECT, "o.animation_data_create()", "o.animation_data_clear()", "x.use_nla"),
    "layer-unlink": (_CHILD, "v.layer_collection.children['c']", "s.collection.children.unlink(c)", "x.name"),
    "layer-remove": (_CHILD, "v.layer_collection.children['c']", "bpy.data.collections.remove(c)", "x.name"),
    "view-layer": (
        _OBJECT + "w = s.view_layers.new('w')\n", "s.view_layers['w']", "s.view_layers.remove(w)", "x.name"
    ),
    "aov": (_OBJECT, "v.aovs.add()", "v.aovs.remove(v.aovs[0])", "x.name"),
    "sequencer": (_OBJECT, "s.sequence_editor_create()", "s.sequence_editor_clear()", "x.channels[0]"),
    "texture-slot": (_SLOT, "p.texture_slots.create(0)", "p.texture_slots.clear(0)", "x.use_map_time"),
    "rigid-body-world": (_WORLD, "s.rigidbody_world.effector_weights", _NO_WORLD, "x.gravity = 0.25"),
    "rigid-body-cache": (_WORLD, "s.rigidbody_world.point_cache", _NO_WORLD, "x.frame_end"),
    "point-caches": (_WORLD, "s.rigidbody_world.point_cache.point_caches", _NO_WORLD, "x[0]"),
    "soft-body-weights": (_SOFT, "m.settings.effector_weights", "o.modifiers.remove(m)", "x.gravity = 0.25"),
    "soft-body-cache": (_SOFT, "m.point_cache", "o.modifiers.clear()", "x.frame_end = 5"),
    "cloth-weights": (
        _CLOTH, "m.settings.effector_weights", "bpy.ops.object.modifier_remove(modifier='m')",
        "x.wind",
    ),
    "cloth-collisions": (
        _CLOTH, "m.collision_settings", "bpy.data.objects.remove(o)", "x.distance_min = 0.5"
    ),
    "particle-cache": (
        _MODIFIER.format("PARTICLE_SYSTEM"), "o.particle_systems[0].point_cache", "o.modifiers.remove(m)", "x.frame_end"
    ),
    "shape-key-point": (
        _OBJECT + "k = o.shape_key_add(name='a')\n", "k.data[0]", "o.shape_key_clear()", "x.co = 1, 1, 1"
    ),
    "add-on-of-view-layer": (
        _OBJECT + "w = s.view_layers.new('w')\n", "w.cycles", "s.view_layers.remove(w)", "x.use_denoising = True"
    ),
    "rigid-body": (
        _OBJECT + "bpy.ops.rigidbody.object_add()\n", "o.rigid_body", "bpy.ops.rigidbody.object_remove()", "x.mass"
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _scene() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def _run(code: str) -> Any:
    execute._rate.clear()
    return execute.execute_blender_code({"code": code}).get("result")


def _raised(code: str) -> str:
    """What a script ends with, in a child that may crash."""

    def run() -> str:
        try:
            _run(code)
        except HandlerError as error:
            return f"{type(error.original).__name__}: {error}"
        return "nothing"

    return fork.run(run)


@pytest.mark.parametrize("name", GONE)
def test_a_part_goes_with_its_item(name: str) -> None:
    setup, take, free, use = GONE[name]
    assert "ReferenceError" in _raised(f"{setup}x = {take}\n{free}\n{use}\n")


@pytest.mark.parametrize("name", GONE)
def test_a_part_stays_when_others_go(name: str) -> None:
    setup, take, _free, use = GONE[name]
    other = "g = o.vertex_groups.new(name='g')\no.vertex_groups.remove(g)\n"
    assert _raised(f"{setup}x = {take}\no = bpy.context.object\n{other}{use}\n") == "nothing"


@pytest.mark.parametrize(("take", "use"), [("new", "x(0.5)"), ("new", "x()")])
def test_functions_of_a_part_go_with_it(take: str, use: str) -> None:
    assert "ReferenceError" in _raised(f"{_RAMP}x = n.color_ramp.elements.{take}\nt.nodes.remove(n)\n{use}")


_USES = (
    "len(x) list(x) tuple(x) sorted(x) [*x] x[0] x['a'] x[:] x.keys() x.values() x.items() x.get('a') x.find('a') "
    "x.new(0.5) x.id_data x.rna_type iter(x) set(x) 'a'in(x) bool(x) next(iter(x)) [e.name|for|e|in|x] dict(x) "
    "enumerate(x) zip(x) x.foreach_get('position',[0.0]) x.path_from_id() max(x) not(x) (x)or(1) (lambda|*a:a)(*x)"
).split()


@pytest.mark.parametrize("use", _USES)
def test_a_collection_goes_with_its_item_whatever_is_asked_of_it(use: str) -> None:
    """None is empty."""
    code = f"{_RAMP}x = n.color_ramp.elements\nt.nodes.remove(n)\nresult = {use.replace('|', ' ')}"
    assert "ReferenceError" in _raised(code)


def test_many_items_of_an_array() -> None:
    """More than are looked up one by one: the ends of the array say it."""
    points = "m = bpy.data.masks.new('m')\np = m.layers.new(name='l').splines.new().points\np.add(1500)\n"
    code = f"{_OBJECT}{points}x = p[700]\n"
    assert _raised(f"{code}o.constraints.clear()\nx.select") == "nothing"
    assert "ReferenceError" in _raised(f"{code}m.layers.clear()\nx.select")


def _parts(*roots: Any) -> list[Any]:
    """All that can be read of these, along every way."""
    readable = policy("blender").readable
    names: dict[type, list[str]] = {}
    found: dict[Any, Any] = {}
    waiting: list[Any] = list(roots)
    while waiting:
        value = waiting.pop()
        kind: Any = type(value)
        if kind not in names:
            rna, allowed = kind.bl_rna, set()
            while rna is not None:
                allowed |= readable(rna.identifier)
                rna = rna.base
            names[kind] = [
                p.identifier
                for p in kind.bl_rna.properties
                if p.identifier in allowed - _LEFT_OUT and p.type in ("POINTER", "COLLECTION")
            ]
        for name in names[kind]:
            held = getattr(value, name)
            for part in held.values() if isinstance(held, bpy.types.bpy_prop_collection) else (held,):
                if isinstance(part, bpy.types.bpy_struct):
                    key = (part.as_pointer(), type(part), part.id_data)
                    if key not in found:
                        found[key] = part
                        waiting.append(part)
    return list(found.values())


#: Reading `palette` takes Blender down; items of a depsgraph live for one turn; a UV layer makes layers when read.
_LEFT_OUT = {
    *("rna_type", "palette", "object_instances", "depsgraph", "attributes", "color_attributes", "uv_layers"),
    *("uv_layer_clone", "uv_layer_stencil"),
}


def _of_parts(parts: list[Any]) -> list[Any]:
    """A collection and a function of each part, where it has one: they know its memory, too."""
    found = []
    for part in parts:
        if isinstance(part, bpy.types.ID):
            continue
        for name, prop in part.bl_rna.properties.items():
            if prop.type == "COLLECTION" and name not in _LEFT_OUT:
                found.append(getattr(part, name))
                break
        functions = [f.identifier for f in part.bl_rna.functions if f.use_self]
        found += [getattr(part, name) for name in functions[:1]]
    return [each for each in found if isinstance(each, bpy.types.bpy_prop_collection | bpy.types.bpy_func)]


class _OfOtherTypes(existing.Now):
    """Everything lies where it does, but is of another type."""

    def _search(self, owner: Any, root: str) -> Any:
        ranges, items = super()._search(owner, root)
        other = bpy.types.Property
        return [(low, high, other) for low, high, _kind in ranges], dict.fromkeys(items, other)


def test_all_that_can_be_read_is_alive_and_nothing_is_where_another_type_lies() -> None:
    """Nothing that a script may hold is taken for removed, and nothing for what was put in its place."""
    for kind in ("Shader", "Geometry", "Texture"):
        tree = bpy.data.node_groups.new("t", f"{kind}NodeTree")
        for name in dir(bpy.types):
            if name.startswith(f"{kind}Node") and hasattr(getattr(bpy.types, name), "bl_rna"):
                try:
                    tree.nodes.new(name)
                except RuntimeError:  # a base of others
                    continue
    for setup, take, _free, _use in GONE.values():
        exec(f"{setup}x = {take}\n", {})
    parts = _parts(bpy.data)
    kinds = {type(part).__name__ for part in parts}
    assert {"ColorRampElement", "CurveMapPoint", "DriverTarget", "LayerCollection", "FModifierNoise"} <= kinds
    of_parts = _of_parts(parts)
    assert len({type(each) for each in of_parts}) == 2
    assert len(of_parts) > 500
    references, now = stale.Stale(pytest.fail), existing.Now()
    held = parts + of_parts
    assert [each for each in held if references._is_gone(each, now)] == []
    others = _OfOtherTypes()
    mistaken = [each for each in held if not references._is_gone(each, others)]
    assert [each for each in mistaken if existing.root_of(type(each)) is not None] == []
    copies = _parts(*bpy.context.evaluated_depsgraph_get().ids)
    assert len([part for part in copies if part.id_data is not None and part.id_data.is_evaluated]) > 500
    assert [part for part in copies if references._is_gone(part, now)] == []
