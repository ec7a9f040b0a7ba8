# SPDX-License-Identifier: GPL-3.0-or-later
"""Node trees by a client: read, edited, sent back; and only with the user's yes."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.clients.tool_calls import ToolError, Tools


@pytest.fixture
def tools(empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    execute._rate.clear()
    bpy.data.materials.new("Wood").use_nodes = True
    made = Tools()
    yield made
    made.stop()


def test_read_edit_send_back(tools: Tools) -> None:
    tree = tools("get_node_tree", kind="material", name="Wood")
    tree["nodes"].append({"name": "Noise", "type": "ShaderNodeTexNoise", "inputs": {"Scale": 12.5}})
    tree["links"].append(["Noise", "Color", "Principled BSDF", "Base Color"])
    done = tools("set_node_tree", kind="material", name="Wood", tree=tree)
    assert done["result"] == {"nodes": 3, "links": 2}
    again = tools("get_node_tree", kind="material", name="Wood")
    assert again["links"] == tree["links"]
    assert again["nodes"][-1]["inputs"] == {"Scale": 12.5}


def test_an_invalid_tree_is_refused_with_the_reason(tools: Tools) -> None:
    with pytest.raises(ToolError, match="has no node of type 'ShaderNodeNoise'"):
        tools(
            "set_node_tree",
            kind="material",
            name="Wood",
            tree={"nodes": [{"name": "N", "type": "ShaderNodeNoise"}]},
        )
    with pytest.raises(ToolError, match=r"There is no material 'Wod' in this file\. Did you mean 'Wood'"):
        tools("get_node_tree", kind="material", name="Wod")


def test_a_yes_given_in_the_client_counts(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made to check the tree before and after the question is no change that would void the yes."""
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", "never")
    tools.capabilities = {"elicitation": {"form": {}}}
    tree = tools("get_node_tree", kind="material", name="Wood")
    arguments = {"kind": "material", "name": "Wood", "tree": tree}
    asked = tools.raw("set_node_tree", arguments)
    [key] = asked["inputRequests"]
    yes = {"action": "accept", "content": {"apply": True}}
    answer = tools.raw(
        "set_node_tree", arguments, inputResponses={key: yes}, requestState=asked["requestState"]
    )
    assert answer["structuredContent"]["result"] == {"nodes": 2, "links": 1}


def test_without_a_yes_nothing_is_built(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    with pytest.raises(ToolError, match="The user has to agree before a script runs"):
        tools("set_node_tree", kind="material", name="Wood", tree={"nodes": []})
    monkeypatch.setenv("BLENDER_MCP_EXECUTE", "off")
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    with pytest.raises(ToolError, match="running scripts is switched off"):
        tools("set_node_tree", kind="material", name="Wood", tree={"nodes": []})
    assert len(bpy.data.materials["Wood"].node_tree.nodes) == 2
