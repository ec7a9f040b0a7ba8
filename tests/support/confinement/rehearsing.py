# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearsals for tests: in a work folder of their own, with a child that a test chooses."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.confinement.config import Config, Sandbox
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, program, rehearse
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.report import Report

__all__ = ("bare_program", "rehearsals", "report_of")


@contextmanager
def rehearsals(folder: Path, *, outlive: bool = False, **sandbox: Any) -> Iterator[Path]:
    """Let processes work below `folder` inside this context; end them all and remove their files afterwards.

    outlive: a bridge that stops leaves them to the next one, so that not every test has to warm a Blender.
    """
    for above in (folder, *folder.parents[:2]):
        above.chmod(above.stat().st_mode | 0o011)  # root's processes become nobody, who must reach the folder
    base = folder / "runs"
    confinement.configure(Config(Sandbox(workdir_base=base, **sandbox)))
    shutdown = pools.shutdown
    if outlive:
        pools.shutdown = lambda: None
    try:
        yield base
    finally:
        pools.shutdown = shutdown
        shutdown()
        confinement.configure(Config())
        assert not base.exists() or not list(base.iterdir()), "a rehearsal left something behind"


def report_of(script: str, **more: Any) -> Report:
    """Rehearse a script on the open scene; return the report."""
    return rehearse.rehearse(prepare.prepare(), textwrap.dedent(script), **{"pictures": False, **more}).report


def bare_program(named: Path | None = None, *, child: str = "bare_child") -> program.Program:
    """Return the program of a child that runs scripts by plain `exec`; patch `prepare.find` with it.

    `child` may be `walled_child`, which has the audit wall.
    """
    children = Path(__file__).parent
    found = program.find(named)
    facts = dict(found.facts)
    libraries = [*facts["libraries"], str(children)]
    changed = {**facts, "libraries": libraries, "main": child}
    return replace(found, facts=tuple(changed.items()), readable=(*found.readable, children))
