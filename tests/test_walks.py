# SPDX-License-Identifier: GPL-3.0-or-later
"""The walks of docs/architecture.md go forward only: as they are written, and as real calls go."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals import pipeline, whom_to_ask
from bl_ext.user_default.mcp_bridge.approvals.request import Entry
from bl_ext.user_default.mcp_bridge.base import folders, journal
from bl_ext.user_default.mcp_bridge.importers.opening import confined
from bl_ext.user_default.mcp_bridge.operators.assets import PREFIX, asset_view
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext

from support.clients.tool_calls import Tools
from support.confinement.rehearsing import rehearsals
from support.imports import ROOT, imported, modules
from support.on_screen.asset_timers import settle
from support.running import fork
from support.services.opening import in_fork
from support.services.polyhaven import CHAIR, PolyHavenServer

PAGE = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
EXECUTE, INJECT, IMPORT = "`execute_blender_code`", "`inject_bpy_script`", "A model of Poly Haven"
ROOMS = ("approvals", "importers", "operators", "sandbox", "scene")
"""Rooms whose files a walk may enter without naming them, if they only answer."""
NO_STEP = {"__init__", "_tick"}
"""Functions that are no step of a walk: one makes an object for later, the other is called by Blender's timer."""
LISTENERS = "base/signal.py"
"""Calls who listens to changes, such as the panel: that is no step either."""
MAKES = {"importers/environment.py"}
"""Files that import a file of a walk only to make an object for it."""
BY_USER = {"operators/requests.py"}
"""Files of a walk that run when the user clicks; the test answers in the user's place."""
CUBE = "```python\nimport bpy\nbpy.ops.mesh.primitive_cube_add()\nresult = 'a cube'\n```"

Step = frozenset[str]


def _walk(name: str) -> list[Step]:
    """The files that each numbered step of a walk names."""
    text = PAGE.read_text("utf-8").split("## The way of a script", 1)[1].split("\n## ", 1)[0]
    [part] = [part for part in re.split(r"^\*\*", text, flags=re.MULTILINE)[1:] if part.startswith(name)]
    steps = re.findall(r"^\d\. (.*?)(?=^\d\. |^\S|\Z)", part, re.MULTILINE | re.DOTALL)
    return [frozenset(re.findall(r"\]\(\.\./([\w/]+\.py)\)", step)) for step in steps]


@cache
def _reached(file: str) -> frozenset[str]:
    """All files that a file imports when it runs, and those that these import."""
    names = {path.relative_to(ROOT).as_posix(): name for name, path in modules().items()}
    found: set[str] = set()
    left = [names[file]]
    while left:
        new = set(imported(left.pop(), annotations=False)) - found
        found |= new
        left += new
    return frozenset(modules()[name].relative_to(ROOT).as_posix() for name in found)


def _leading(walk: list[Step]) -> frozenset[str]:
    """The files of a walk that lead it on, by importing another one of it. The others only answer."""
    named = frozenset[str]().union(*walk)
    return frozenset(file for file in named if _reached(file) & (named - {file}))


@pytest.mark.parametrize("name", [EXECUTE, INJECT, IMPORT])
def test_no_walk_as_written_returns_to_a_file(name: str) -> None:
    walk = _walk(name)
    assert len(walk) >= 4
    leading = _leading(walk)
    assert leading
    again = {file for file in leading if sum(file in step for step in walk) > 1}
    assert again == set(), "a file that leads the walk on is in one step only: split it"


# --- real calls -------------------------------------------------------------------------------------------------


@contextmanager
def _followed(patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The files of the extension that calls enter meanwhile, in their order. Sees the threads that start meanwhile."""
    entered: list[str] = []
    prefix = f"{ROOT}/"

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(prefix) or not _begins(frame):
            return
        file, back = code.co_filename.removeprefix(prefix), frame.f_back
        # What an earlier step hands down, or makes for a later one, belongs to no step.
        if ("<locals>" in code.co_qualname and file in entered) or code.co_name in NO_STEP:
            return
        caller = back.f_code.co_filename.removeprefix(prefix) if back else ""
        if caller not in (file, LISTENERS):
            entered.append(file)

    def unseen(module: Any, name: str) -> None:
        """Have nobody look at frames during this call: the audit wall would take it for the script's own look."""
        real = getattr(module, name)

        def call(*arguments: Any) -> Any:
            sys.setprofile(None)
            try:
                return real(*arguments)
            finally:
                sys.setprofile(look)

        patch.setattr(module, name, call)

    unseen(execute, "_execute")
    unseen(fork, "run")
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def _begins(frame: FrameType) -> bool:
    """Whether a call begins here, and is no coroutine or generator that goes on."""
    code = frame.f_code.co_code
    return frame.f_lasti < 0 or code[frame.f_lasti + 1] & 3 == 0


def _assert_goes_forward(entered: list[str], walk: list[Step]) -> None:
    leading = _leading(walk)
    step_of = {file: number for number, step in enumerate(walk, 1) for file in step & leading}
    assert step_of.keys() <= {*entered, *BY_USER}, "the call did not take this walk"
    begun = next(at for at, file in enumerate(entered) if step_of.get(file) == 1)
    now, seen = 1, {}
    for file in entered[begun:]:
        step = step_of.get(file, now)
        assert step >= now, f"step {now} enters {file}, a file of step {step}"
        now = step
        seen.setdefault(file, set()).add(now)
    between = {
        file: _reached(file) & leading
        for file, steps in seen.items()
        if file.split("/")[0] in ROOMS and file not in {*step_of, *MAKES} and len(steps) > 1
    }
    assert {file: ways for file, ways in between.items() if ways} == {}, "it leads on from several steps"


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    execute._rate.clear()


@pytest.mark.usefixtures("audit")
def test_a_script_that_nobody_is_asked_about_goes_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    with _followed(monkeypatch) as entered:
        tools = Tools()
        try:
            assert tools("execute_blender_code", code="result = 1")["result"] == 1
        finally:
            tools.stop()
    _assert_goes_forward(entered, _walk(EXECUTE))


@pytest.mark.usefixtures("audit")
def test_a_script_that_the_user_approves_goes_forward(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    run = pipeline.run

    async def patiently(context: RequestContext, entry: Entry, *, wait_seconds: float) -> Any:
        return await run(context, entry, wait_seconds=2 * wait_seconds)  # to follow each call takes long

    monkeypatch.setattr(pipeline, "run", patiently)
    with rehearsals(tmp_path_factory.mktemp("rehearsals")), _followed(monkeypatch) as entered:
        tools = Tools()
        queue = approvals.queue()

        def agree(entry: Entry) -> None:
            if entry.state == "waiting":
                revision = entry.revision
                assert revision is not None
                queue.confirm(entry.id, sha256=entry.sha256, revision=revision, by="the user in the panel")

        unlisten = queue.listen(agree)
        try:
            done = tools("inject_bpy_script", script=CUBE)
            assert (done["status"], done["result"]) == ("success", "a cube"), json.dumps(done)
        finally:
            unlisten()
            tools.stop()
    _assert_goes_forward(entered, _walk(INJECT))


@pytest.fixture
def panel() -> Iterator[None]:
    """The panel Assets at rest, before and after."""
    asset_view.unregister()
    asset_view.register()
    yield
    asset_view.unregister()
    asset_view.register()
    bpy.context.window_manager.property_unset(f"{PREFIX}kind")


@pytest.mark.usefixtures("audit", "panel")
def test_a_model_from_the_panel_goes_forward(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_folder", tmp_path)
    monkeypatch.setattr(confined, "run", in_fork)
    monkeypatch.setattr(bpy.context.preferences.system, "use_online_access", True)
    files = tmp_path_factory.getbasetemp() / "polyhaven-walk"
    files.mkdir()
    with PolyHavenServer(files) as service:
        monkeypatch.setenv("BLENDER_MCP_POLYHAVEN_API", service.url)
        setattr(bpy.context.window_manager, f"{PREFIX}kind", "models")
        settle()
        with _followed(monkeypatch) as entered:
            bpy.ops.mcp_bridge.import_asset(asset_id=CHAIR)
            settle()
    assert asset_view.view.done, asset_view.view.error
    _assert_goes_forward(entered, _walk(IMPORT))
