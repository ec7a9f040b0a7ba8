# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the node trees of a world and of a material. Main thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .files import Map, Role
from .surface import Surface

__all__ = ("build_material", "build_world", "set_coordinates")

#: Role of a map -> the input of the Principled BSDF that uses it unchanged.
_INPUTS: dict[Role, str] = {
    "roughness": "Roughness",
    "metallic": "Metallic",
    "anisotropy": "Anisotropic",
    "anisotropy_rotation": "Anisotropic Rotation",
    "ior": "IOR",
}
#: Channels of a packed map.
_CHANNELS: dict[Role, str] = {"ambient_occlusion": "Red", "roughness": "Green", "metallic": "Blue"}
#: The height from the lowest to the highest point, as a part of the texture's width; Poly Haven gives none in metres.
_HEIGHT = 0.05
_DEFAULT_WIDTH = 1.0


def build_world(world: Any, image: Any) -> None:
    """Build a world: Texture Coordinate → Mapping → Environment → Background → Output."""
    tree = _emptied(world)
    vector = _coordinates(tree, "Generated")
    picture = _node(tree, "ShaderNodeTexEnvironment", -300, 300)
    picture.image = image
    tree.links.new(vector, picture.inputs["Vector"])
    background = _node(tree, "ShaderNodeBackground", 0, 300)
    tree.links.new(picture.outputs["Color"], background.inputs["Color"])
    output = _node(tree, "ShaderNodeOutputWorld", 200, 300)
    tree.links.new(background.outputs["Background"], output.inputs["Surface"])


def build_material(material: Any, images: Sequence[tuple[Map, Any]], *, width: float | None) -> None:
    """Connect each map. `width` is the texture's real width in metres, which gives the height of its displacement."""
    tree = _emptied(material)
    vector = _coordinates(tree, "UV")
    shader = _node(tree, "ShaderNodeBsdfPrincipled", 100, 300)
    output = _node(tree, "ShaderNodeOutputMaterial", 400, 300)
    tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    said: dict[Role, Any] = {}
    for row, (one, image) in enumerate(images):
        picture = _node(tree, "ShaderNodeTexImage", -700, 500 - 300 * row)
        picture.image, picture.label = image, one.key
        tree.links.new(vector, picture.inputs["Vector"])
        colour = picture.outputs["Color"]
        said |= _split(tree, colour, one.roles) if one.key == "arm" else dict.fromkeys(one.roles, colour)
    for role, name in _INPUTS.items():
        if role in said:
            tree.links.new(said[role], shader.inputs[name])
    if "base_color" in said:
        tree.links.new(_base_color(tree, said), shader.inputs["Base Color"])
    if normal := _normal(tree, said):
        tree.links.new(normal, shader.inputs["Normal"])
    if "displacement" in said:
        raised = _node(tree, "ShaderNodeDisplacement", 100, -500)
        raised.inputs["Midlevel"].default_value = 0.5
        raised.inputs["Scale"].default_value = _HEIGHT * (width or _DEFAULT_WIDTH)
        tree.links.new(said["displacement"], raised.inputs["Height"])
        tree.links.new(raised.outputs["Displacement"], output.inputs["Displacement"])


def set_coordinates(material: Any, surface: Surface, scale: float, *, try_only: bool = False) -> bool:
    """Give the material's pictures the coordinates of a surface. With `try_only`, only return whether it has them."""
    tree = material.node_tree
    mapping = next((node for node in tree.nodes if node.bl_idname == "ShaderNodeMapping"), None)
    if mapping is None or not mapping.inputs["Vector"].links:
        return not try_only  # the user has rebuilt this tree
    source = mapping.inputs["Vector"].links[0].from_node
    wanted = source.outputs.get("UV" if surface.has_uv else "Object")
    now = mapping.inputs["Scale"].default_value
    if (
        all(abs(part - scale) < 1e-4 * scale for part in now)
        and mapping.inputs["Vector"].links[0].from_socket == wanted
    ):
        return True
    if try_only:
        return False
    mapping.inputs["Scale"].default_value = (scale, scale, scale)
    if wanted is not None:
        tree.links.new(wanted, mapping.inputs["Vector"])
    for node in tree.nodes:
        if node.bl_idname == "ShaderNodeTexImage":
            node.projection, node.projection_blend = ("FLAT", 0.0) if surface.has_uv else ("BOX", 0.2)
    return True


def _emptied(owner: Any) -> Any:
    if not owner.use_nodes:
        owner.use_nodes = True  # from 5.0 on it is always True
    owner.node_tree.nodes.clear()
    return owner.node_tree


def _node(tree: Any, kind: str, x: float, y: float) -> Any:
    node = tree.nodes.new(kind)
    node.location = (x, y)
    return node


def _coordinates(tree: Any, output: str) -> Any:
    """The vector output of a Mapping node of type POINT."""
    source = _node(tree, "ShaderNodeTexCoord", -1200, 300)
    mapping = _node(tree, "ShaderNodeMapping", -1000, 300)
    mapping.vector_type = "POINT"
    tree.links.new(source.outputs[output], mapping.inputs["Vector"])
    return mapping.outputs["Vector"]


def _split(tree: Any, colour: Any, roles: Sequence[Role]) -> dict[Role, Any]:
    split = _node(tree, "ShaderNodeSeparateColor", -350, -100)
    tree.links.new(colour, split.inputs["Color"])
    return {role: split.outputs[_CHANNELS[role]] for role in roles}


def _base_color(tree: Any, said: dict[Role, Any]) -> Any:
    if "ambient_occlusion" not in said:
        return said["base_color"]
    mix = _node(tree, "ShaderNodeMix", -200, 500)
    mix.data_type, mix.blend_type = "RGBA", "MULTIPLY"
    mix.inputs["Factor"].default_value = 1.0
    # By position: a Mix node has inputs named A and B for each data type.
    tree.links.new(said["base_color"], mix.inputs[6])
    tree.links.new(said["ambient_occlusion"], mix.inputs[7])
    return mix.outputs[2]


def _normal(tree: Any, said: dict[Role, Any]) -> Any | None:
    colour = said.get("normal_gl")
    if colour is None and "normal_dx" in said:
        colour = _flipped(tree, said["normal_dx"])
    if colour is None:
        return None
    normal = _node(tree, "ShaderNodeNormalMap", -150, -300)
    tree.links.new(colour, normal.inputs["Color"])
    return normal.outputs["Normal"]


def _flipped(tree: Any, colour: Any) -> Any:
    """Invert the green channel: in normal maps for DirectX it points the other way."""
    split = _node(tree, "ShaderNodeSeparateColor", -500, -300)
    turn = _node(tree, "ShaderNodeMath", -420, -420)
    turn.operation = "SUBTRACT"
    turn.inputs[0].default_value = 1.0
    join = _node(tree, "ShaderNodeCombineColor", -300, -300)
    tree.links.new(colour, split.inputs["Color"])
    tree.links.new(split.outputs["Green"], turn.inputs[1])
    for channel, source in (
        ("Red", split.outputs["Red"]),
        ("Green", turn.outputs[0]),
        ("Blue", split.outputs["Blue"]),
    ):
        tree.links.new(source, join.inputs[channel])
    return join.outputs["Color"]
