# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads of the extension, and a Blender that is closed while they are at work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.process import threads

from support.bridges.serving import TOKEN, Served, serving
from support.clients.raw_client import RawClient
from support.running import busy, fork
from support.running.processes import alive, descendants
from support.services.web import Reply, Web


def test_it_waits_for_every_worker_and_no_longer() -> None:
    def work() -> list[Any]:
        go_on, done = threading.Event(), []
        worker = threads.start(lambda *given: (go_on.wait(60), done.append(given)), 1, 2, name="of the test")
        first = threads.wait(0.0)
        threading.Timer(0.05, go_on.set).start()
        return [worker.daemon, first, threads.wait(60.0), done]

    assert fork.run(work) == [True, ["mcp_bridge of the test"], [], [(1, 2)]]


def test_a_worker_does_not_wait_for_itself() -> None:
    def work() -> list[list[str]]:
        left: list[list[str]] = []
        threads.start(lambda: left.append(threads.wait(60.0)), name="that waits").join(60.0)
        return left

    assert fork.run(work) == [[]]


def test_threads_that_do_not_end_in_time_are_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(threads, "_LONGEST_END_S", 0.01)

    def work() -> str:
        threads.start(threading.Event().wait, 60, name="that goes on")
        threads.unregister()
        return caplog.text

    assert "these threads did not end in time: mcp_bridge that goes on\n" in fork.run(work)


def test_a_pausable_thread_pauses_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 30.0)

    def work() -> list[bool]:
        counted = 0

        def count() -> None:
            nonlocal counted
            asked: list[Callable[[], None]] = []
            with threads.pausable(asked.append):
                while True:
                    counted += 1
                    time.sleep(0)
                    while asked:
                        asked.pop()()

        threads.start(count, name="that counts")
        moves = []
        for pause in (contextlib.nullcontext, threads.paused, contextlib.nullcontext):
            with pause():
                before = counted
                time.sleep(0.2)
                moves.append(counted > before)
        return moves

    assert fork.run(work) == [True, False, True]


def test_from_the_start_of_a_pause_the_thread_runs_not_one_instruction_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python may hand the interpreter over after each call, so here it does so after each call of the last function."""
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 30.0)

    def hand_over(frame: FrameType, event: str, _called: object) -> None:
        if event == "c_return" and frame.f_code is threads._Stay._stay.__code__:
            time.sleep(0.02)

    def work() -> int:
        threading.setprofile(hand_over)
        busy.start()
        others = [each.ident for each in threading.enumerate() if each is not threading.main_thread()]
        moved = 0
        for _ in range(5):
            with threads.paused():
                before = [_instruction(each) for each in others]
                time.sleep(0.1)
                moved += before != [_instruction(each) for each in others]
        return moved

    assert fork.run(work) == 0


def _instruction(ident: int | None) -> tuple[str, int]:
    frame = sys._current_frames()[ident or 0]
    return frame.f_code.co_qualname, frame.f_lasti


def test_a_thread_that_does_not_pause_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is deep in work. A thread whose loop is closed has ended. Nobody waits after the error."""
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 0.2)

    def work() -> list[Any]:
        late: list[Callable[[], None]] = []
        loop = asyncio.new_event_loop()
        loop.close()
        with threads.pausable(loop.call_soon_threadsafe):
            with threads.paused():
                pass
            begin = time.monotonic()
            with (
                threads.pausable(late.append),
                pytest.raises(
                    RuntimeError, match=r"at work for more than 0\.2 s.*temp_override\(\): call it again"
                ),
                threads.paused(),
            ):
                pytest.fail("the work began beside the thread")
            waited = time.monotonic() - begin
        late[0]()  # does not wait any more
        with threads.paused():
            return [0.2 <= waited < 10.0, len(late)]

    assert fork.run(work) == [True, 1]


#: What keeps a Blender busy until it is closed.
_WORK: dict[str, dict[str, Any]] = {
    "rehearse_script": {"code": "while True: pass"},
    "render_image": {"resolution": [1920, 1080], "samples": 60000},
    "download_polyhaven_asset": {"asset_id": "brick_wall"},
}


def test_a_blender_that_is_closed_at_work_ends_well_and_leaves_nothing(tmp_path: Path) -> None:
    """A rehearsal, a render and a download are under way when it is told to end; `serving` looks at its exit code."""
    tmp_path.chmod(0o711)
    runs = tmp_path / "runs"
    before = f"""
from pathlib import Path
from bl_ext.user_default.mcp_bridge.base import folders
bpy.context.preferences.system.use_online_access = True
(folders.user_folder() / "sandbox.toml").write_text('[sandbox]\\nworkdir_base = "{runs}"\\n')
"""
    with Web() as web:
        web.routes |= {
            f"/{kind}/brick_wall": Reply(b" ", endless=True, pause=0.01) for kind in ("info", "files")
        }
        with serving(tmp_path, before=before, BLENDER_MCP_POLYHAVEN_API=web.url) as served:
            for tool, arguments in _WORK.items():
                threading.Thread(target=_call, args=(served, tool, arguments), daemon=True).start()
            until = time.monotonic() + 60
            while not web.seen or _running(served) < 2:
                assert time.monotonic() < until
                time.sleep(0.02)
            started = descendants(served.pid)
    assert started
    assert [pid for pid in started if alive(pid)] == []
    assert list(runs.iterdir()) == []


def _call(served: Served, tool: str, arguments: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # an end, or a closing frame, is no answer
        RawClient(served.port, TOKEN).call(tool, **arguments)


def _running(served: Served) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/health", timeout=60) as answer:
        return json.load(answer)["processes"]["running"]
