# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts Blenders that serve, each in a process of its own, as the README describes it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.running import blender
from support.running.ports import free_port, is_open

__all__ = ("TOKEN", "Served", "serving")

TOKEN = "a-token-for-tests-alone"

_SERVE = """
import sys
from bl_ext.user_default.mcp_bridge.server import command_line
mesh = bpy.data.meshes.new("Part")
for number in range({objects}):
    bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Part {{number:05}}", mesh))
{before}
sys.exit(command_line.run([]))
"""


@dataclass(frozen=True)
class Served:
    """A serving Blender: its port, the environment in which the stdio shim finds it, and its process."""

    port: int
    env: dict[str, str]
    pid: int


@contextmanager
def serving(
    folder: Path, *, objects: int = 0, before: str = "", killed: bool = False, **more: str
) -> Iterator[Served]:
    """Start a Blender with its factory scene and `objects` more objects, with its folders in `folder`; end or kill it.

    `before`: Python text that it runs first. `more`: environment variables.
    """
    port = free_port()
    own = {"BLENDER_PORT": str(port), "BLENDER_MCP_TOKEN": TOKEN, "BLENDER_MCP_CONFIRM": "auto"}
    env = blender.environment(folder, **own | more)
    log = folder / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            blender.command(_SERVE.format(objects=objects, before=before)),
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        yield Served(port, env, process.pid)
        if killed:
            return
        process.terminate()
        assert process.wait(timeout=30) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
