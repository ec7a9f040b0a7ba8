# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool as a client calls it, over a socket, with a real confined Blender behind it."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import bpy
import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement import supervisor as supervisor_module
from bl_ext.user_default.mcp_bridge.server.tools import rehearse
from bl_ext.user_default.mcp_bridge.server.tools.registry import make

from support.clients.tool_calls import Tools
from support.confinement.rehearsing import rehearsals

_FITS = fastjsonschema.compile(make(rehearse.rehearse_script).output_schema)


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with rehearsals(tmp_path_factory.mktemp("tool"), outlive=True):
        started = Tools()
        yield started
        started.stop()


def test_the_report_comes_as_data_as_text_and_with_pictures(tools: Tools) -> None:
    code = "import bpy\nbpy.data.objects['Cube'].location.z = 2\nresult = 'moved'"
    answer = tools.raw("rehearse_script", {"code": code, "title": "Lift the cube"})
    report = answer["structuredContent"]
    _FITS(report)
    assert (report["status"], report["outcome"], report["result"]) == ("success", "success", "moved")
    assert not answer.get("isError")
    kinds = [block["type"] for block in answer["content"]]
    assert kinds == ["text", "text", "image", "text", "image"]
    assert "location: (0, 0, 0) → (0, 0, 2)" in answer["content"][0]["text"]
    assert base64.b64decode(answer["content"][2]["data"]).startswith(b"\x89PNG")
    assert bpy.data.objects["Cube"].location.z == 0, "nothing happens to the open scene"


def test_an_error_of_the_script_is_an_error_of_the_tool(tools: Tools) -> None:
    answer = tools.raw("rehearse_script", {"code": "1 / 0"})
    _FITS(answer["structuredContent"])
    assert answer["isError"]
    told = answer["structuredContent"]
    assert (told["error"], told["cause"], told["line"]) == ("HandlerError", "ZeroDivisionError", 1)
    assert answer["content"][0]["text"].startswith("The rehearsal stopped (line 1): ")
    assert "ZeroDivisionError" in answer["content"][0]["text"]


def test_without_any_way_to_confine_the_assistant_is_told(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "candidates", lambda mode: [])
    answer = tools.raw("rehearse_script", {"code": "result = 1"})
    _FITS(answer["structuredContent"])
    told = answer["structuredContent"]
    assert (told["error"], told["cause"]) == ("ExternalServiceError", "Unconfined")
    assert "Nothing on this system confines a process" in answer["content"][0]["text"]
