# SPDX-License-Identifier: GPL-3.0-or-later
"""An animation on a render target, in Blender's real window: from the question to the frames in their folder."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import debian_root
import environment
from blenders import DEFAULT
from support.clients.raw_client import RawClient
from support.on_screen import window as window_support
from support.on_screen.reading import Rectangle
from support.on_screen.window import Window
from support.running.ports import free_port

TOKEN = "a-token-for-tests-alone"
PORT = free_port()
FRAMES = 8
#: Where the question stands.
DIALOG = Rectangle(100, 180, 900, 300)
_HOME = window_support.FOLDER / "farm-files"
_NEEDED = re.compile(r"(openjd-.*|pydantic|pydantic_core|PyYAML|annotated-types|typing.*)==.*")
#: Frames that take a while, and that differ.
_SCENE = """
import bpy
scene = bpy.context.scene
scene.cycles.use_denoising = False
cube = bpy.data.objects["Cube"]
for frame, turn in ((1, 0.0), (8, 1.5)):
    cube.rotation_euler.z = turn
    cube.keyframe_insert("rotation_euler", frame=frame)
"""


def openjd() -> Path:
    """The `openjd` command as the root's Python runs it."""
    asked = debian_root.command(window_support.root(), ["python3", "--version"])
    said = subprocess.run(asked, env=debian_root.ENVIRONMENT, capture_output=True, text=True, check=True)
    version = ".".join(said.stdout.split()[1].split(".")[:2])
    folder = window_support.FOLDER.parent / f"openjd-{version}"
    wanted = [pin for pin in DEFAULT.pins if _NEEDED.fullmatch(pin)]
    if not (folder / "openjd").exists():
        environment.pip(wanted, options=environment.into(folder, version))
    program = _HOME / "openjd"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec python3 -m openjd "$@"\n')
    program.chmod(0o755)
    return program


class Ordering(threading.Thread):
    """A client that orders the animation."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.job_id = ""
        self.start()

    def run(self) -> None:
        client = RawClient(PORT, TOKEN)
        given = {"path": "turn.png", "start": 1, "end": FRAMES, "samples": 4, "resolution": [320, 180]}
        answer = client.call("render_animation", **given, where="night shift")["structuredContent"]
        while "frames" not in answer:  # the user is being asked
            job = client.call("get_job", job_id=answer["job_id"], wait_seconds=30)["structuredContent"]
            answer = job.get("result", answer)
        self.job_id = answer["job_id"]
        client.close()


@pytest.fixture
def window() -> Iterator[Window]:
    named = _HOME / "named"
    named.mkdir(parents=True, exist_ok=True)
    for file in named.iterdir():
        file.unlink()
    policy = _HOME / "policy.toml"
    policy.write_text(f"render_targets = 'night shift = openjd program=\"{openjd()}\"'\n")
    env = {
        "BLENDER_PORT": str(PORT),
        "BLENDER_MCP_TOKEN": TOKEN,
        "BLENDER_MCP_FOLDERS": str(named),
        "BLENDER_MCP_POLICY_FILE": str(policy),
    }
    with window_support.start("farm", env=env) as started:
        yield started


def test_a_job_from_its_question_to_its_frames(window: Window) -> None:
    window.serve()
    window.run(_SCENE)
    tab = window.open_tab()
    ordering = Ordering()
    window.press_on("Review", tab)
    window.find("Allow")
    window.settle(1.0)
    window.picture("farm-question")
    for told in ("8 frames", "4 samples", "Results"):
        window.find(told, DIALOG)
    assert list((_HOME / "named").iterdir()) == []
    window.press_on("Allow")
    window.find("Nothing waits", tab)
    client = RawClient(PORT, TOKEN)
    until(client, ordering, lambda job: job["render"]["done"] >= 2)
    open_activity(window, tab)
    window.picture("farm-working")
    job = until(client, ordering, lambda job: job["state"] != "working")
    assert (job["state"], job["result"]["done"], job["result"]["failures"]) == ("completed", FRAMES, [])
    window.find(f"{FRAMES} of {FRAMES} frames", tab)
    window.find("from night shift", tab)
    window.picture("farm-done")
    client.close()
    assert sorted(path.name for path in (_HOME / "named").iterdir()) == [
        f"turn_{frame:04d}.png" for frame in range(1, FRAMES + 1)
    ]


def open_activity(window: Window, tab: Rectangle) -> None:
    """Press until it is open: the first click after a dialog may still be the dialog's."""
    for _ in range(3):
        window.press_on("Activity", tab)
        with contextlib.suppress(AssertionError):
            window.find(f"of {FRAMES} frames", tab, timeout=10.0)
            return
    raise AssertionError("the activity does not open, or does not show the job")


def until(client: RawClient, ordering: Ordering, wanted: Any) -> dict[str, Any]:
    """The job once it is as wanted."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if ordering.job_id:
            answer = client.call("get_job", job_id=ordering.job_id)
            job: dict[str, Any] = json.loads(answer["content"][0]["text"])  # beside the last frame's picture
            if wanted(job):
                return job
        time.sleep(0.2)
    raise AssertionError(f"the job is {job if ordering.job_id else 'not there'}")
