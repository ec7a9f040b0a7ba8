# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as callers see it: gates, results, errors, undo, journal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import journal, settings
from bl_ext.user_default.mcp_bridge.base.errors import (
    HandlerError,
    InvalidParamsError,
    LimitExceeded,
    PolicyError,
)
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import execute_blender_code, run

from support.running import blender


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    for name in ("BLENDER_MCP_EXECUTE", "BLENDER_MCP_EXECUTE_DRY_RUN", "BLENDER_MCP_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    yield
    execute._rate.clear()
    settings.set_preferences({})


def call(code: str) -> dict[str, Any]:
    return execute_blender_code({"code": code})


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.current().path.read_text("utf-8").splitlines()]


# --- the contract -------------------------------------------------------------------------------------------


def test_success() -> None:
    assert call("result = 'ok'") == {"status": "success", "result": "ok", "stdout": ""}


def test_stdout_and_no_result() -> None:
    assert call("print('hello', 3)") == {"status": "success", "result": None, "stdout": "hello 3\n"}


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({}, "is missing"),
        ({"code": None}, "is missing"),
        ({"code": ""}, "is empty"),
        ({"code": "  \n"}, "is empty"),
        ({"code": 7}, "is no text"),
        ("import bpy", "is missing"),
    ],
)
def test_missing_code(params: Any, wrong: str) -> None:
    with pytest.raises(InvalidParamsError, match=f"'code' {wrong}: give the Python script as a text"):
        execute_blender_code(params)


def test_the_scripts_own_error() -> None:
    with pytest.raises(HandlerError, match="boom") as caught:
        call("x = 1\nraise ValueError('boom')")
    assert isinstance(caught.value.original, ValueError)
    assert caught.value.line == 2


def test_line_is_the_scripts_innermost() -> None:
    with pytest.raises(HandlerError) as caught:
        call("import json\ndef f():\n    json.loads('{')\nf()")
    assert caught.value.line == 3


def test_dry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "1")
    answer = call("import bpy\nbpy.data.objects.remove(bpy.data.objects['Cube'])")
    assert answer["status"] == "success"
    assert answer["dry_run"] is True
    assert "not executed" in answer["message"]
    assert "Cube" in bpy.data.objects


def test_dry_run_still_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "1")
    with pytest.raises(PolicyError):
        call("x = __builtins__")


def test_endpoint_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE", "off")
    with pytest.raises(PolicyError, match="switched off"):
        call("result = 1")
    assert records()[-1]["event"] == "execute_refused"


# --- limits -------------------------------------------------------------------------------------------------


def test_rate_limit() -> None:
    settings.set_preferences({"rate_limit": 3})
    for _ in range(3):
        call("result = 1")
    with pytest.raises(LimitExceeded, match="3 scripts ran within 60 s") as caught:
        call("result = 1")
    assert caught.value.limit == "rate"


def test_what_policy_stops_does_not_count() -> None:
    settings.set_preferences({"rate_limit": 2})
    for code in ("import os\nos.system('true')", "open('x')", "eval('1')"):
        with pytest.raises(PolicyError):
            call(code)
    call("result = 1")
    call("result = 1")
    with pytest.raises(LimitExceeded, match="2 scripts ran"):
        call("result = 1")


def test_a_rehearsed_script_has_more_time() -> None:
    forever = "while True: pass"
    settings.set_preferences({"time_limit_s": 0.3})
    for rehearsed in (True, False):
        with pytest.raises(LimitExceeded, match=r"longer than 0\.3 s"):
            execute.run(forever, request_id="x", requester="test", rehearsed=rehearsed)


def test_source_limit() -> None:
    settings.set_preferences({"source_limit_kb": 1})
    with pytest.raises(LimitExceeded, match="KiB") as caught:
        call("x = 1\n" * 1000)
    assert caught.value.limit == "source"


def test_time_limit_rolls_back() -> None:
    settings.set_preferences({"time_limit_s": 0.3})
    with pytest.raises(LimitExceeded, match="longer than") as caught:
        call("import bpy\nbpy.data.objects['Cube'].location.x = 5\nwhile True:\n    pass")
    assert caught.value.limit == "time"
    assert bpy.data.objects["Cube"].location.x == 0


def test_output_limit() -> None:
    settings.set_preferences({"output_limit_kb": 1})
    with pytest.raises(LimitExceeded, match="printed more"):
        call("print('x' * 5000)")


def test_cancelled() -> None:
    with pytest.raises(LimitExceeded, match="cancelled") as caught:
        run("while True: pass", request_id="r", requester="t", cancelled=lambda: True)
    assert caught.value.limit == "cancelled"


# --- levels -------------------------------------------------------------------------------------------------


def test_a_call_may_ask_for_less() -> None:
    assert (
        run("import math\nresult = math.sqrt(16)", request_id="r", requester="t", level="math")["result"]
        == 4.0
    )
    with pytest.raises(PolicyError, match="bpy"):
        run("import bpy", request_id="r", requester="t", level="math")


def test_a_call_may_not_ask_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_LEVEL", "math")
    with pytest.raises(PolicyError, match="more than the settings allow"):
        run("result = 1", request_id="r", requester="t", level="blender")
    with pytest.raises(InvalidParamsError, match="unknown"):
        run("result = 1", request_id="r", requester="t", level="root")


def test_arithmetic_level() -> None:
    answer = run("x = 2 ** 8\ny = x / 4", request_id="r", requester="t", level="arithmetic")
    assert answer == {"status": "success", "result": 64.0, "stdout": ""}


# --- undo and roll-back -------------------------------------------------------------------------------------


def test_failure_leaves_the_scene_as_before() -> None:
    with pytest.raises(HandlerError):
        call(
            "import bpy\nbpy.ops.mesh.primitive_monkey_add()\nbpy.data.objects['Cube'].location.x = 4\n"
            "bpy.context.scene.cursor.location = (9, 9, 9)\nbpy.context.scene.frame_set(33)\n1 / 0"
        )
    assert "Suzanne" not in bpy.data.objects
    assert bpy.data.objects["Cube"].location.x == 0
    assert tuple(bpy.context.scene.cursor.location) == (0, 0, 0)
    assert bpy.context.scene.frame_current == 1


def test_refusal_leaves_the_scene_as_before() -> None:
    with pytest.raises(PolicyError, match=r"bpy\.ops\.wm\.save_as_mainfile may not be used") as caught:
        call(
            "import bpy\nbpy.data.objects['Cube'].name = 'X'\nbpy.ops.wm.save_as_mainfile(filepath='/tmp/x')"
        )
    assert caught.value.line == 3
    assert "Cube" in bpy.data.objects


def test_one_undo_takes_it_back() -> None:
    call("import bpy\nfor i in range(3):\n    bpy.ops.mesh.primitive_cube_add()")
    assert len(bpy.data.objects) == 6
    bpy.ops.ed.undo()
    assert len(bpy.data.objects) == 3


def test_global_undo_off_refuses_and_loses_nothing() -> None:
    bpy.data.objects["Cube"].location.x = 6
    bpy.context.preferences.edit.use_global_undo = False
    try:
        with pytest.raises(PolicyError, match="Global Undo is off"):
            call("import bpy\nbpy.data.objects['Cube'].location.x = 0\n1 / 0")
    finally:
        bpy.context.preferences.edit.use_global_undo = True
    assert bpy.data.objects["Cube"].location.x == 6


def test_a_refusal_cannot_be_swallowed() -> None:
    with pytest.raises(PolicyError):
        call(
            "import bpy\nwhile True:\n    try:\n        bpy.ops.wm.quit_blender()\n"
            "    except Exception:\n        pass\n    finally:\n        x = 1"
        )


def test_users_mode_is_kept_for_the_script() -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    assert (
        call("import bpy, bmesh\nresult = len(bmesh.from_edit_mesh(bpy.context.object.data).verts)")["result"]
        == 8
    )
    assert bpy.context.mode == "EDIT_MESH"


# --- the journal --------------------------------------------------------------------------------------------


def test_journal_has_the_record_before_the_effect() -> None:
    call("result = 1")
    started, succeeded = records()[-2:]
    assert (started["event"], succeeded["event"]) == ("execute_started", "execute_succeeded")
    assert started["script"] == "result = 1"
    assert started["level"] == "blender"
    assert started["request_id"] == succeeded["request_id"]
    assert succeeded["seconds"] >= 0


def test_journal_of_a_failure() -> None:
    with pytest.raises(HandlerError):
        call("raise KeyError('k')")
    assert records()[-1]["event"] == "execute_failed"
    assert records()[-1]["line"] == 1


def test_journal_without_code() -> None:
    settings.set_preferences({"journal_code": False})
    call("result = 12345")
    assert "script" not in records()[-2]
    assert len(records()[-2]["sha256"]) == 64


def test_nothing_runs_where_the_journal_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: Any, **_fields: Any) -> None:
        raise journal.JournalError("The journal cannot be written")

    monkeypatch.setattr(journal.current(), "write", full)
    with pytest.raises(journal.JournalError):
        call("import bpy\nbpy.data.objects['Cube'].location.x = 5")
    assert bpy.data.objects["Cube"].location.x == 0


# --- what a failed script says, and leaves ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class A:\n    def __repr__(self): return 'mine'\nraise ValueError(A())", "ValueError: mine"),
        ("raise KeyError('k')", "KeyError: 'k'"),
        ("raise ValueError([1, 2])", "ValueError: [1, 2]"),
        (
            "class E(Exception):\n    def __str__(self): return f'{self.n} lost'\ne = E()\ne.n = 3\nraise e",
            "E: 3 lost",
        ),
        (
            "class E(Exception):\n    args = property(lambda self: 1 / 0)\nraise E([2])",
            "E: [2]",
        ),
        ("raise ValueError('x' * 1_000_000)", "xx… (1,000,000 characters)"),
        (
            "class A:\n    def __repr__(self): raise OSError\nraise ValueError(A())",
            "could not be made: OSError",
        ),
    ],
)
def test_error_is_told_while_the_run_lives(code: str, said: str) -> None:
    with pytest.raises(HandlerError) as caught:
        call(code)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize(
    "code",
    [
        "t = ()\nfor _ in range(60): t = (t, t)\nraise ValueError(t)",
        "t = ()\nfor _ in range(60): t = (t, t)\nraise OSError(1, t)",
        "class A:\n    def __repr__(self):\n        while True: pass\nraise ValueError(A())",
    ],
)
def test_error_that_cannot_be_told_in_time(code: str) -> None:
    settings.set_preferences({"time_limit_s": 0.5})
    with pytest.raises(LimitExceeded):
        call(code)


def test_failed_script_leaves_pixels() -> None:
    """Blender's undo does not bring back what a buffer held."""
    image = bpy.data.images.new("painted", 4, 4)
    image.pixels = [0.25, 0.5, 0.75, 1.0] * 16
    bpy.ops.ed.undo_push(message="painted")
    before = list(image.pixels)
    for change in (
        "i.pixels = [0.0] * 64",
        "i.pixels.foreach_set([0.0] * 64)",
        "i.pixels[0] = 0.0",
        "i.scale(2, 2)",
        "i.generated_color = (1, 0, 0, 1)",
        "i.generated_width = 8",
    ):
        with pytest.raises(HandlerError):
            call(f"import bpy\ni = bpy.data.images['painted']\n{change}\nraise ValueError")
        kept = bpy.data.images["painted"]
        assert tuple(kept.size) == (4, 4), change
        assert list(kept.pixels) == before, change


@pytest.mark.parametrize(
    "change", ["t.write('import os')", "t.clear()", "t.from_string('x')", "t.lines[0].body = 'import os'"]
)
def test_text_that_runs_by_itself_is_not_written(change: str) -> None:
    text = bpy.data.texts.new("startup.py")
    text.write("print('the user')")
    text.use_module = True
    bpy.ops.ed.undo_push(message="text")
    with pytest.raises(PolicyError, match="runs when the file is opened"):
        call(f"import bpy\nt = bpy.data.texts['startup.py']\n{change}")
    assert bpy.data.texts["startup.py"].as_string().strip() == "print('the user')"
    call("import bpy\nt = bpy.data.texts.new('notes')\nt.write('hello')\nt.lines[0].body = 'bye'")
    assert bpy.data.texts["notes"].as_string().strip() == "bye"


# --- without Blender ----------------------------------------------------------------------------------------

_BARE = """
import sys
sys.path.insert(0, {parent!r})
from {package}.base import journal
from {package}.base.errors import BridgeError, failure_of
from {package}.sandbox.execute import execute_blender_code
if {folder!r}:
    from pathlib import Path
    journal.configure(Path({folder!r}))
for code in ("result = 1", "import bpy", "1 +", None):
    try:
        execute_blender_code({{"code": code}})
    except BridgeError as error:
        print(repr(error))
"""


@pytest.mark.parametrize("journal_in", ["nowhere", "a folder", "a file"])
def test_a_python_without_blender_says_so(tmp_path: Path, journal_in: str) -> None:
    """Neither `bpy` nor a library of the extension is there, as in whatever Python imports the package."""
    extension = blender.installed_folder()
    folder = {"nowhere": "", "a folder": str(tmp_path / "audit"), "a file": str(tmp_path / "file")}[
        journal_in
    ]
    if journal_in == "a file":
        Path(folder).write_text("")
    script = _BARE.format(parent=str(extension.parent), package=extension.name, folder=folder)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    missing = "InvalidParamsError(\"the parameter 'code' is missing: give the Python script as a text\")"
    assert done.stdout.splitlines() == ["ExternalServiceError('Blender (bpy) not available')"] * 3 + [missing]
    if journal_in == "a folder":
        written = [json.loads(line) for line in (Path(folder) / journal.FILE_NAME).read_text().splitlines()]
        assert [(one["event"], one["error"]) for one in written] == [
            ("execute_refused", "ExternalServiceError"),
            ("execute_refused", "ExternalServiceError"),
            ("execute_refused", "ExternalServiceError"),
            ("execute_refused", "InvalidParamsError"),
        ]
