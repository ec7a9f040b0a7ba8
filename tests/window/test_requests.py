# SPDX-License-Identifier: GPL-3.0-or-later
"""A request in Blender's real window: it waits, is read, applied and denied by the mouse."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from support import window as window_support
from support.blender import EXTENSION
from support.ports import free_port
from support.raw_client import RawClient
from support.window import Window

TOKEN = "a-token-for-tests-alone"
CHAIR = (
    "```python\nimport bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\nbpy.context.object.name = 'Chair'\n```"
)

#: Where things are in the factory start-up file's window at a scale of 1, with the sidebar open.
TAB = (1043, 245)
REVIEW = (838, 262)
DENY = (960, 262)
APPLY = (740, 655)
PORT = free_port()


class Bridge:
    def __init__(self, window: Window) -> None:
        self.window = window
        window.serve()
        self.run(
            "next(a for a in bpy.context.window.screen.areas if a.type == 'VIEW_3D').spaces[0].show_region_ui = True"
        )
        window.settle(1.0)
        window.click(*TAB)
        window.settle(1.0)

    def run(self, code: str) -> Any:
        return self.window.run(f"from importlib import import_module\nname = {EXTENSION!r}\n{code}")

    def state(self) -> str:
        return self.run(
            "desk = import_module(f'{name}.sandbox.review').current()\n"
            "result = desk.entries()[0].state if desk.entries() else ''"
        )

    def becomes(self, state: str) -> bool:
        until = time.monotonic() + 90.0
        while (found := self.state()) != state:
            if time.monotonic() > until:
                print(f"the request is {found!r}, not {state!r}")
                return False
            time.sleep(0.2)
        return True

    def objects(self) -> list[str]:
        return self.run("result = sorted(item.name for item in bpy.data.objects)")

    def picture(self, name: str) -> None:
        self.window.settle(1.0)
        self.window.picture(f"requests-{name}")


class Asking(threading.Thread):
    """A client that injects a script and waits for the outcome."""

    def __init__(self, script: str, title: str) -> None:
        super().__init__(daemon=True)
        self._arguments = {"script": script, "title": title}
        self.result: Any = None
        self.start()

    def run(self) -> None:
        client = RawClient(PORT, TOKEN)
        try:
            self.result = client.call("inject_bpy_script", **self._arguments)
        finally:
            client.close()


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("requests", env=env) as started:
        yield Bridge(started)


def test_return_applies_nothing_and_apply_runs_it_once(bridge: Bridge) -> None:
    asking = Asking(CHAIR, "Simple chair")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.picture("waiting")
    assert "Chair" not in bridge.objects()
    bridge.window.click(*REVIEW)
    bridge.picture("review")
    bridge.window.press("Return")
    bridge.picture("after-return")
    assert bridge.state() == "waiting"
    assert "Chair" not in bridge.objects()
    bridge.window.click(*REVIEW)
    bridge.window.settle(1.0)
    bridge.window.click(*APPLY)
    assert bridge.becomes("applied")
    assert bridge.objects().count("Chair") == 1
    asking.join(30)
    assert asking.result["structuredContent"]["status"] == "success"
    bridge.picture("applied")


def test_a_denial_carries_its_reason_to_the_assistant(bridge: Bridge) -> None:
    asking = Asking(CHAIR.replace("Chair", "Table"), "A table")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.window.click(*DENY)
    bridge.window.settle(1.0)
    bridge.window.press("n", "o")
    bridge.picture("deny")
    bridge.window.press("Return")
    bridge.window.settle(1.0)
    bridge.window.press("Return")
    assert bridge.becomes("denied")
    asking.join(30)
    assert asking.result["structuredContent"]["message"] == "The user denied it: no"
    assert "Table" not in bridge.objects()
