# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender with its window in which scripts wait for a yes, and a client that sends them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from support.clients.raw_client import RawClient
from support.on_screen.window import Window
from support.running.blender import EXTENSION

__all__ = ("CHAIR", "TOKEN", "Asking", "Bridge")

TOKEN = "a-token-for-tests-alone"
CHAIR = (
    "```python\nimport bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\nbpy.context.object.name = 'Chair'\n```"
)


class Bridge:
    """The extension in this window, with the server running on `port` and the tab open."""

    def __init__(self, window: Window, port: int, prefix: str = "requests") -> None:
        self.window = window
        self.port, self.prefix = port, prefix
        window.serve()
        self.tab = window.open_tab()

    def run(self, code: str) -> Any:
        return self.window.run(f"from importlib import import_module\nname = {EXTENSION!r}\n{code}")

    def state(self) -> str:
        return self.run(
            "queue = import_module(f'{name}.approvals').current()\n"
            "result = queue.entries()[0].state if queue.entries() else ''"
        )

    def becomes(self, state: str) -> None:
        self.until(lambda: self.state() == state, f"the request is not {state!r}")

    def until(self, condition: Callable[[], bool], otherwise: str) -> None:
        """Wait until a condition holds; fail with a picture if it does not within 90 s."""
        end = time.monotonic() + 90.0
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{otherwise}: {self.window.picture('requests-failed')}")
            time.sleep(0.2)

    def press(self, text: str) -> None:
        """Press a text in the tab."""
        self.window.press_on(text, self.tab)

    def asks(self, script: str, title: str) -> Asking:
        """Let a client send a script, and wait until it waits for a yes."""
        asking = Asking(self.port, script, title)
        self.becomes("waiting")
        return asking

    def objects(self) -> list[str]:
        return self.run("result = sorted(item.name for item in bpy.data.objects)")

    def picture(self, name: str) -> None:
        self.window.settle(1.0)
        self.window.picture(f"{self.prefix}-{name}")


class Asking(threading.Thread):
    """A client that injects a script and waits for the outcome."""

    def __init__(self, port: int, script: str, title: str) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._arguments = {"script": script, "title": title}
        self.result: dict[str, Any] = {}
        self.start()

    def run(self) -> None:
        client = RawClient(self._port, TOKEN)
        try:
            answer = client.call("inject_bpy_script", **self._arguments)["structuredContent"]
            while answer["status"] == "pending":  # on a slow machine
                asked = {"job_id": answer["request_id"], "wait_seconds": 30}
                job = client.call("get_job", **asked)["structuredContent"]
                if job["state"] not in ("working", "input_required"):
                    answer = job.get("result", {"status": "error", **job})
            self.result = answer
        finally:
            client.close()
