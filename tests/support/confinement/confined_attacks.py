# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the shared attacks in a confined child without walls, and reports what they touched outside."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from support.confinement.rehearsing import report_of
from support.sandboxing import sandbox_cases
from support.sandboxing.sandbox_cases import SECRET, Attack

__all__ = ("run_confined",)


def run_confined(attack: Attack) -> list[str]:
    """Run an attack by plain `exec` in a rehearsal; return what it read, changed or reached outside."""
    with sandbox_cases.surroundings() as places, sandbox_cases.listener() as contacted:
        folder = Path(places["@DIR@"]).parent
        for path in (
            folder,
            *folder.rglob("*"),
        ):  # confinement alone must protect it, not the file system's rights
            path.chmod(0o777 if path.is_dir() else path.stat().st_mode | 0o666)
        places["@PORT@"] = str(contacted.port)
        before = _state(folder)
        os.environ["SBX_TOKEN"] = SECRET
        try:
            report = report_of(sandbox_cases.fill(attack.code, places))
        finally:
            del os.environ["SBX_TOKEN"]
        after = _state(folder)
        found = [f"changed {path}" for path in {*before, *after} if before.get(path) != after.get(path)]
        if SECRET in f"{report['stdout']}{report['result']}{report.get('error')}":
            found.append("read the secret")
        if contacted.reached.is_set():
            found.append("reached the network")
    return found


def _state(folder: Path) -> dict[str, str]:
    """Return path -> mode, time and digest of everything in a folder."""
    return {
        str(path): f"{status.st_mode} {status.st_mtime_ns} "
        + (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in folder.rglob("*")
        if (status := path.lstat())
    }
