# SPDX-License-Identifier: GPL-3.0-or-later
"""No script makes a chain of data-blocks that Blender could not follow, whatever links it and in whatever order."""

from __future__ import annotations

import contextlib
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.growth import chains

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_LINKED = "for o in os: bpy.context.collection.objects.link(o)\n"
_OBJECTS = "os = [bpy.data.objects.new('o', {data}) for _ in range({count})]\n" + _LINKED
_EMPTIES = _OBJECTS.replace("{data}", "None")
_MESHES = _OBJECTS.replace("{data}", "bpy.data.meshes.new('m')")
_GROUPS = "ts = [bpy.data.node_groups.new('g', '{tree}') for _ in range({count})]\n"
#: What links one data-block `a` to the next one `b`, after what makes them; the last line has Blender follow them.
_LINKS: dict[str, tuple[str, str]] = {
    "parent": (_EMPTIES, "a.parent = b"),
    "constraint": (_EMPTIES, "a.constraints.new('COPY_LOCATION').target = b"),
    "constraint that is copied": (
        _EMPTIES + "first = bpy.data.objects.new('f', None)\n",
        "c = first.constraints.new('COPY_LOCATION')\nc.target = b\na.constraints.copy(c)",
    ),
    "driver": (_EMPTIES, "a.driver_add('location', 0).driver.variables.new().targets[0].id = b"),
    "modifier": (_MESHES, "a.modifiers.new('s', 'SHRINKWRAP').target = b"),
    "custom property": (_EMPTIES, "a['x'] = b"),
    "custom property in a dict": (_EMPTIES, "a['x'] = {'y': {'z': b}}"),
    "custom property in a list": (_EMPTIES, "a['x'] = [b]"),
    "custom property in a group": (_EMPTIES, "a['x'] = {}\na['x']['y'] = b"),
    "remap": (_EMPTIES, "a.parent = first\nfirst.user_remap(b)"),
    "operator": (
        _EMPTIES,
        "a.select_set(True)\nbpy.context.view_layer.objects.active = b\n"
        "bpy.ops.object.parent_set(type='OBJECT', keep_transform=False)\na.select_set(False)",
    ),
    "operator that tracks": (
        _EMPTIES,
        "a.select_set(True)\nbpy.context.view_layer.objects.active = b\n"
        "bpy.ops.object.track_set(type='TRACKTO')\na.select_set(False)",
    ),
    "collections": ("os = [bpy.data.collections.new('c') for _ in range({count})]\n", "a.children.link(b)"),
    "instances": (
        "os = [bpy.data.collections.new('c') for _ in range({count})]\n",
        "i = bpy.data.objects.new('i', None)\ni.instance_type = 'COLLECTION'\na.objects.link(i)\n"
        "i.instance_collection = b",
    ),
    "groups": (_GROUPS.replace("{tree}", "GeometryNodeTree").replace("ts", "os"),
        "a.nodes.new('GeometryNodeGroup').node_tree = b"),
    "groups of shaders": (_GROUPS.replace("{tree}", "ShaderNodeTree").replace("ts", "os"),
        "a.nodes.new('ShaderNodeGroup').node_tree = b"),
    "materials that drive one another": (
        "os = [bpy.data.materials.new('m') for _ in range({count})]\n",
        "a.driver_add('metallic').driver.variables.new().targets[0].id_type = 'MATERIAL'\n"
        "a.animation_data.drivers[0].driver.variables[0].targets[0].id = b",
    ),
    "meshes": ("os = [bpy.data.meshes.new('m') for _ in range({count})]\n", "a.texture_mesh = b"),
    "scenes": ("os = [bpy.data.scenes.new('s') for _ in range({count})]\n", "a.background_set = b"),
}  # fmt: skip
_ORDERS = {
    "forward": "pairs = list(zip(os, os[1:]))\n",
    "backward": "pairs = list(zip(os, os[1:]))[::-1]\n",
    "joined": "pairs = list(zip(os, os[1:]))\npairs = [p for i, p in enumerate(pairs) if i % 30] + pairs[::30]\n",
}
_COUNT = 60
_FOLLOWED = "bpy.context.view_layer.update()\n"


def _script(name: str, order: str, *, often: bool) -> str:
    make, link = _LINKS[name]
    body = "".join(f"    {line}\n" for line in link.splitlines())
    first = "first = bpy.data.objects.new('first', None)\n" if "first" in link else ""
    updated = "    " + _FOLLOWED if often else ""
    return (
        make.replace("{count}", str(_COUNT)) + first + _ORDERS[order]
        + f"for a, b in pairs:\n{body}{updated}" + _FOLLOWED
    )  # fmt: skip


@pytest.mark.parametrize("order", _ORDERS)
@pytest.mark.parametrize("name", _LINKS)
def test_each_way_to_a_long_chain_is_refused(name: str, order: str) -> None:
    """With a limit of 40 data-blocks, also where Blender follows the chain after each link."""

    def attempt(often: bool) -> str:
        chains.LONGEST = 40  # type: ignore[misc]
        try:
            result(_script(name, order, often=often))
        except BridgeError as error:
            return str(error)
        return f"made, {chains.longest_chain()} long"

    for often in (False, True):
        assert "in a chain, each of which uses the next one" in fork.run(attempt, often)


@pytest.mark.parametrize("name", _LINKS)
def test_a_chain_below_the_limit_is_made(name: str) -> None:
    def attempt() -> int:
        result(_script(name, "backward", often=False))
        return chains.longest_chain()

    assert fork.run(attempt) >= _COUNT


def test_a_longer_chain_of_the_user_stays_usable() -> None:
    """And a script may use as much of it as there is, but make it no longer."""

    def attempt(script: str) -> str:
        exec(
            "import bpy\n" + _EMPTIES.replace("{count}", "60") + "for a, b in zip(os, os[1:]): a.parent = b",
            {},
        )
        chains.LONGEST = 40  # type: ignore[misc]
        try:
            result(script)
        except BridgeError as error:
            return str(error)
        return "made"

    use = (
        "a = bpy.data.objects['o']\na.location.x = 1\na.parent = a.parent\nbpy.context.view_layer.update()\n"
    )
    assert fork.run(attempt, use) == "made"
    longer = "b = bpy.data.objects.new('b', None)\nbpy.context.collection.objects.link(b)\nb.parent = a\n"
    assert "are more than the 6" in fork.run(attempt, use + longer)


def test_one_parent_for_many_is_no_chain() -> None:
    def attempt() -> int:
        measured = []
        found = chains.longest_chain

        def counted() -> int:
            measured.append(1)
            return found()

        chains.longest_chain = counted
        chains.LONGEST = 40  # type: ignore[misc]
        script = (
            _EMPTIES.replace("{count}", "100") + "for o in os[1:]:\n    o.parent = os[0]\n    " + _FOLLOWED
        )
        result(script)
        return len(measured)

    assert fork.run(attempt) <= 3  # a measurement takes long in a large scene


def test_a_long_chain_leaves_the_scene_as_it_was() -> None:
    script = _script("parent", "backward", often=False)

    def attempt() -> list[Any]:
        chains.LONGEST = 40  # type: ignore[misc]
        before = sorted(each.name for each in bpy.context.scene.objects)
        try:
            result(script)
        except BridgeError:
            return [before, sorted(each.name for each in bpy.context.scene.objects)]
        return []

    before, after = fork.run(attempt)
    assert before == after


def test_a_script_that_stops_before_the_check_leaves_no_chain_for_the_roll_back() -> None:
    """What Blender evaluates while it rolls back has no long chain: here it is measured in the middle of that."""
    script = _script("parent", "backward", often=False).removesuffix(_FOLLOWED) + "1 / 0"

    def attempt() -> list[int]:
        chains.LONGEST = 40  # type: ignore[misc]
        found: list[int] = []

        def note(_scene: object, depsgraph: Any) -> None:
            found.append(len(depsgraph.ids))

        bpy.app.handlers.depsgraph_update_post.append(note)
        with contextlib.suppress(BridgeError):
            result(script)
        return found

    assert max(fork.run(attempt)) < 40  # without `Chains.abandon`, the first evaluation has all objects


def test_a_chain_that_is_a_circle_is_measured() -> None:
    exec(
        "import bpy\n" + _EMPTIES.replace("{count}", "30")
        + "for a, b in zip(os, [*os[1:], os[0]]): a.constraints.new('COPY_LOCATION').target = b", {}
    )  # fmt: skip
    assert chains.longest_chain() >= 30
