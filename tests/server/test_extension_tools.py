# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools of another extension: the example, installed and enabled by Blender's own installer, and called by a client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.base.journal import FILE_NAME
from bl_ext.user_default.mcp_bridge.server import extension_tools
from mcp import Client
from mcp_types import ElicitResult

from support.bridges.serving import Served, serving
from support.clients.sdk import transport

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "measure_tools"
MEASURE, MOVE = "measure_tools__measure_faces", "measure_tools__set_origin_to"
PACKAGE = "bl_ext.user_default.measure_tools"

#: Does what a file's name says, when it appears: the user at work in the preferences.
_USER = """
from pathlib import Path
from bl_ext.user_default.mcp_bridge.base import main_thread

def install():
    bpy.ops.extensions.package_install_files(repo="user_default", filepath={zip!r}, enable_on_install=True)

def user():
    does = {{
        "install": install,
        "disable": lambda: addon_utils.disable({package!r}, default_set=True),
        "enable": lambda: addon_utils.enable({package!r}, default_set=True),
    }}
    for name, do in does.items():
        path = Path({folder!r}) / name
        if path.exists():
            do()
            path.unlink()

main_thread.regularly.connect(user)
{first}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a zip, built and checked with Blender's own tool."""
    spec = find_spec("bpy")
    assert spec is not None
    assert spec.origin is not None
    scripts = next(Path(spec.origin).parent.glob("[0-9]*.[0-9]*/scripts"))
    tool = scripts / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    path = tmp_path_factory.mktemp("example") / "measure_tools.zip"
    for arguments in (["build", "--source-dir", EXAMPLE, "--output-filepath", path], ["validate", path]):
        subprocess.run([sys.executable, tool, *arguments], check=True, capture_output=True)
    return path


class User:
    """A served Blender, and the user who sits before it."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served = served
        self.folder = folder
        self.asked: list[str] = []
        self.says = "accept"

    def does(self, what: str) -> None:
        """Install, enable or disable the example, and wait until it is done."""
        path = self.folder / what
        path.touch()
        until = time.monotonic() + 30
        while path.exists():
            assert time.monotonic() < until
            time.sleep(0.02)

    def talks(self, story: Callable[[Any], Awaitable[None]], kind: str = "websocket") -> None:
        """Run `story` with a client, whose questions this user answers."""

        async def answer(_context: Any, params: Any) -> Any:
            self.asked.append(params.message)
            return ElicitResult(action=self.says, content={} if self.says == "accept" else None)

        async def run() -> None:
            async with Client(transport(kind, self.served), elicitation_callback=answer) as client:
                await story(client)

        asyncio.run(run())

    def records(self) -> list[dict[str, Any]]:
        """The journal's records of tools of extensions."""
        folder = self.folder / "blender" / "extensions" / ".user" / "user_default" / "mcp_bridge" / "audit"
        if not (folder / FILE_NAME).exists():
            return []
        lines = (folder / FILE_NAME).read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [one for one in found if one["event"].startswith("extension_tool_")]


@pytest.fixture
def blender(tmp_path: Path, package: Path, request: pytest.FixtureRequest) -> Iterator[User]:
    """With the example, unless `request.param` has other variables or says that it comes later."""
    more = dict(getattr(request, "param", {}))
    first = "" if more.pop("later", False) else "install()"
    before = _USER.format(zip=str(package), package=PACKAGE, folder=str(tmp_path), first=first)
    with serving(tmp_path, before=before, **more) as served:
        yield User(served, tmp_path)


async def _names(client: Any) -> set[str]:
    return {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}


async def _listed(client: Any, name: str, *, there: bool = True) -> None:
    """Wait until a tool is in the list, or no more: the bridge looks once a second."""
    until = time.monotonic() + 30
    while (name in await _names(client)) is not there:
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", ["websocket", "http"])
def test_they_are_listed_under_the_extensions_name_and_called(blender: User, kind: str) -> None:
    async def story(client: Any) -> None:
        await _listed(client, MEASURE)
        [tool] = [one for one in (await client.list_tools()).tools if one.name == MEASURE]
        assert tool.title == "Measure Faces"
        assert tool.description == "The number of faces of a mesh object and their area in square metres."
        assert tool.annotations.read_only_hint is True
        assert tool.input_schema["required"] == ["object_name"]
        assert tool.input_schema["properties"]["object_name"]["description"] == "such as Cube."
        answer = await client.call_tool(MEASURE, {"object_name": "Cube"})
        assert answer.structured_content == {"status": "success", "result": {"faces": 6, "area_m2": 24.0}}
        moved = await client.call_tool(MOVE, {"object_name": "Cube"})
        assert moved.structured_content["result"] == {"location": [0.0, 0.0, -1.0]}
        found = await client.call_tool("find_tools", {"query": "area of faces"})
        assert found.structured_content["tools"][0]["name"] == MEASURE

    blender.talks(story, kind)
    assert blender.asked == []  # BLENDER_MCP_CONFIRM=auto
    told = [(one["event"].removeprefix("extension_tool_"), one["tool"]) for one in blender.records()]
    assert told == [("called", MEASURE), ("started", MOVE), ("succeeded", MOVE)]
    assert blender.records()[1]["arguments"] == {"object_name": "Cube"}


@pytest.mark.parametrize("blender", [{"later": True}], indirect=True)
def test_they_come_and_go_with_the_extension(blender: User) -> None:
    async def story(client: Any) -> None:
        assert MEASURE not in await _names(client)
        await asyncio.to_thread(blender.does, "install")
        await _listed(client, MEASURE)
        await asyncio.to_thread(blender.does, "disable")
        await _listed(client, MEASURE, there=False)
        await asyncio.to_thread(blender.does, "enable")
        await _listed(client, MEASURE)
        answer = await client.call_tool(MEASURE, {"object_name": "Cube"})
        assert answer.structured_content["result"]["faces"] == 6

    blender.talks(story)


@pytest.mark.parametrize("blender", [{"BLENDER_MCP_CONFIRM": "client"}], indirect=True)
def test_what_changes_something_is_asked_about_and_what_reads_is_not(blender: User) -> None:
    async def story(client: Any) -> None:
        await _listed(client, MOVE)
        assert not (await client.call_tool(MEASURE, {"object_name": "Cube"})).is_error
        assert blender.asked == []
        assert not (await client.call_tool(MOVE, {"object_name": "Cube"})).is_error
        [question] = blender.asked
        assert "wants to use “Set Origin To” of the extension measure_tools" in question
        assert '{"object_name":"Cube"}' in question
        blender.says = "decline"
        refused = await client.call_tool(MOVE, {"object_name": "Cube", "point": "middle"})
        assert refused.structured_content["error"] == "PolicyError"
        assert (await client.call_tool("get_object_info", {"name": "Cube"})).structured_content[
            "location"
        ] == [
            0.0,
            0.0,
            -1.0,
        ]

    blender.talks(story)
    assert [one["event"] for one in blender.records() if one["tool"] == MOVE] == [
        "extension_tool_started",
        "extension_tool_succeeded",
    ]


def test_failures_have_the_form_of_all_failures(blender: User) -> None:
    async def story(client: Any) -> None:
        await _listed(client, MEASURE)
        failed = await client.call_tool(MEASURE, {"object_name": "Nobody"})
        assert failed.structured_content == {
            "status": "error",
            "error": "HandlerError",
            "cause": "ValueError",
            "message": f"{MEASURE} failed: ValueError: there is no mesh object named 'Nobody'",
        }
        wrong = await client.call_tool(MEASURE, {"object": "Cube"})
        assert wrong.structured_content["error"] == "InvalidParamsError"
        part = await client.call_tool(
            "batch", {"calls": [{"tool": MEASURE, "arguments": {"object_name": "Cube"}}]}
        )
        assert "cannot be part of a batch" in part.content[0].text

    blender.talks(story)
    assert [one["event"] for one in blender.records()] == ["extension_tool_called", "extension_tool_failed"]


@pytest.mark.parametrize("blender", [{"BLENDER_MCP_EXECUTE": "off"}], indirect=True)
def test_where_no_script_may_run_they_only_read(blender: User) -> None:
    async def story(client: Any) -> None:
        await _listed(client, MOVE)
        assert not (await client.call_tool(MEASURE, {"object_name": "Cube"})).is_error
        refused = await client.call_tool(MOVE, {"object_name": "Cube"})
        assert refused.structured_content["error"] == "PolicyError"
        assert "switched off" in refused.structured_content["message"]

    blender.talks(story)


@pytest.mark.parametrize("blender", [{"BLENDER_MCP_EXECUTE_DRY_RUN": "1"}], indirect=True)
def test_a_dry_run_calls_nothing_that_changes_something(blender: User) -> None:
    async def story(client: Any) -> None:
        await _listed(client, MOVE)
        said = await client.call_tool(MOVE, {"object_name": "Cube"})
        assert said.structured_content == {
            "status": "success",
            "dry_run": True,
            "message": f"dry run: {MOVE} was not called",
        }

    blender.talks(story)
    assert blender.records() == []


@pytest.mark.parametrize("blender", [{"BLENDER_MCP_EXTENSION_TOOLS": "off"}], indirect=True)
def test_a_setting_keeps_them_out(blender: User) -> None:
    async def story(client: Any) -> None:
        await asyncio.sleep(1.5)
        assert not {MEASURE, MOVE} & await _names(client)

    blender.talks(story)


def test_nothing_of_a_disabled_extension_runs_before_the_bridge_has_looked_again() -> None:
    context = SimpleNamespace(client=SimpleNamespace(id="c", name="Cursor"))
    offer = extension_tools._Offer("bl_ext.user_default.demo", print, fine, "Fine", True)
    with pytest.raises(ExternalServiceError, match="the extension demo was disabled, and its tools with it"):
        extension_tools._call(offer, context, {})  # type: ignore[arg-type]


def fine(count: int = 1) -> int:
    """Count."""
    return count


def without_docstring() -> None: ...


def untyped(count) -> None:
    """Count."""


async def later() -> None:
    """Wait."""


def a_name_that_is_so_much_longer_than_any_client_of_ours_would_take() -> None:
    """Too long."""


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (without_docstring, "has no docstring"),
        (untyped, "has a parameter 'count' without a type"),
        (later, "is no plain function"),
        (print, "is no plain function"),
        (a_name_that_is_so_much_longer_than_any_client_of_ours_would_take, "characters, more than 64"),
        (fine, "already: give the function another name"),
    ],
)
def test_what_is_no_tool_is_told_to_its_author_and_none_is_offered(
    wrong: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    def register_mcp_tools(add: Any) -> None:
        add(fine, title="Fine")
        add(wrong)

    with caplog.at_level("ERROR"):
        assert extension_tools._ask_for_tools("bl_ext.user_default.demo", register_mcp_tools) == ()
    assert "bl_ext.user_default.demo offers no tools: its register_mcp_tools failed" in caplog.text
    assert why in caplog.text


def test_one_that_fails_keeps_no_other_from_being_offered() -> None:
    def broken(_add: Any) -> None:
        raise RuntimeError("broken")

    assert extension_tools._ask_for_tools("bl_ext.user_default.demo", broken) == ()
    [tool] = extension_tools._ask_for_tools("bl_ext.user_default.demo", lambda add: add(fine, read_only=True))
    assert (tool.name, tool.title) == ("demo__fine", "Fine")
    assert tool.annotations == {"readOnlyHint": True, "openWorldHint": False}
