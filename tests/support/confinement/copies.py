# SPDX-License-Identifier: GPL-3.0-or-later
"""Means for tests that confine a copy of a Python: a command runs in a fork of a zygote."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.confinement.linux.forking import Zygote
from bl_ext.user_default.mcp_bridge.sandbox.confinement.means import Place, Started
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import Spec

__all__ = ("Copied",)

#: The zygote: each copy runs the program that an environment variable names.
_PROGRAM = """
import importlib, json, os, sys, types
package = types.ModuleType("supervisor")
package.__path__ = [sys.argv[1]]
sys.modules["supervisor"] = package
answering, zygote = map(importlib.import_module, ("supervisor.answering", "supervisor.linux.zygote"))
zygote.serve(answering.opened())
code, *arguments = json.loads(os.environ.pop("PROGRAM"))
sys.argv = ["-c", *arguments]
exec(compile(code, "<copy>", "exec"), {"__name__": "__main__"})
"""


class Copied:
    """Takes commands such as `python -I -c CODE ARGUMENT…`. Call `close` at the end."""

    name, wraps, needs_namespaces = "a copy", False, False

    def __init__(self) -> None:
        self._zygote: Zygote | None = None
        self._started: Started | None = None

    def start(self, spec: Spec, place: Place) -> Started:
        if self._zygote is None:
            self._zygote = Zygote()
            folder = str(Path(confinement.__file__).parent)
            command = (sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, folder)
            self._started = self._zygote.start(replace(spec, cmd=command, env=()), place)
            assert self._started.answers is not None
            assert json.loads(self._started.answers.readline()) == {"ready": True}
        program = spec.cmd[spec.cmd.index("-c") + 1 :]
        return self._zygote.copies.start(
            replace(spec, env=(*spec.env, ("PROGRAM", json.dumps(program)))), place
        )

    def close(self) -> None:
        """End the zygote."""
        if self._zygote is not None and self._started is not None:
            self._zygote.retire()
            popen: Any = self._started.popen
            assert popen.wait(30) in (0, -9), "it ends by itself, or with the thread that started it"
            popen.stdin and popen.stdin.close()
            popen.stdout.close()
