# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes confined processes print before, between and after their answers, as Blender and add-ons do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement import supervisor as supervisor_module
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import Spec
from bl_ext.user_default.mcp_bridge.sandbox.confinement.running import Running

__all__ = ("PRINTED", "noisy", "noisy_processes")

#: A line that every noisy process prints.
PRINTED = "00:00.110 system.path | WARNING Could not get a list of mounted file-systems"

#: Prints once before anything else, and from then on all the time: lines of Blender's log, what looks like answers,
#: lines without an end, bytes that are no text.
_NOISE = f"""
import os, threading, time
def _print_noise():
    for line in (
        b'{PRINTED}\\n',
        b'{{"ready": true, "done": "x", "error": "no", "in_force": []}}\\n',
        b'[[[\\n\\n',
        b'\\xff\\x00\\x1b[2J',
        b'x' * 5000,
    ):
        os.write(1, line)
        os.write(2, line)
def _print_noise_always():
    while True:
        _print_noise()
        time.sleep(0.002)
_print_noise()
threading.Thread(target=_print_noise_always, daemon=True).start()
"""
_RUN_FILE = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def noisy(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the same Python program, with noise: `python … -c CODE …` or `python -I FILE …`."""
    if "-c" in command:
        at = command.index("-c") + 1
        return (*command[:at], _NOISE + command[at], *command[at + 1 :])
    python, isolated, *rest = command
    assert isolated == "-I", f"another way to start Python: {command}"
    return (python, isolated, "-c", _NOISE + _RUN_FILE, *rest)


@contextmanager
def noisy_processes() -> Iterator[list[tuple[str, ...]]]:
    """Make every process that a supervisor starts in this context noisy; yield the original commands."""
    asked: list[tuple[str, ...]] = []

    class Noisy(Running):
        def __init__(self, spec: Spec, *more: Any) -> None:
            asked.append(spec.cmd)
            super().__init__(replace(spec, cmd=noisy(spec.cmd)), *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor_module, "Running", Noisy)
        yield asked
