# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a worker, by Blender: a script in a chunk of .blend files, each in a confined Blender of its own.

    blender -b --factory-startup --disable-autoexec --python worker.py -- --extension extension …

This Blender opens no file itself. The parts of MCP Bridge in the job's bundle start another one, which the worker's
kernel confines as on the artist's computer; if nothing confines it, the file fails. For each file it writes
`file_7.json` in the folder for results, in the form of `render.py`'s reports on frames, and the copy `file_7.blend`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

_PACKAGE = "mcp_bridge"


def main(arguments: list[str]) -> int:
    """Run the script in the files; return the exit code: 0, or 1 if a file failed."""
    parser = argparse.ArgumentParser(prog="worker.py")
    for name, told in (
        ("extension", "folder with the parts of MCP Bridge"),
        ("libraries", "folder with the Python packages that these need"),
        ("files", "JSON: a list of files, each with its folder and its copy's place"),
        ("code", "the script"),
        ("results", "folder for copies and what became of each file"),
        ("chunks", "JSON: a list of lists of numbers of files, from 1"),
    ):
        parser.add_argument(f"--{name}", required=True, type=Path, help=told)
    parser.add_argument(
        "--version", required=True, help="the Blender that the job was made with, such as 4.2"
    )
    parser.add_argument("--level", required=True, help="what the script may do")
    parser.add_argument("--chunk", required=True, type=int, help="which of the chunks, from 0")
    parser.add_argument("--attempt", type=int, default=1)
    given = parser.parse_args(arguments)
    given.results.mkdir(parents=True, exist_ok=True)
    _require_version(given.version)
    _load_bundle(given)
    try:
        return _files(given)
    finally:
        _rehearsal("pool").shutdown()


def _require_version(version: str) -> None:
    import bpy

    here = ".".join(map(str, bpy.app.version[:2]))
    if here != version:
        raise SystemExit(f"This worker has Blender {here}, and the job was made for {version}: use that one.")


def _load_bundle(given: argparse.Namespace) -> None:
    """Make the extension of the job's bundle ready for imports, with a journal of its own."""
    sys.path.append(str(given.libraries))
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [str(given.extension)]
    sys.modules[_PACKAGE] = package
    journal = importlib.import_module(f"{_PACKAGE}.base.journal")
    journal.configure(Path(tempfile.mkdtemp(prefix="mcp_bridge_")) / "journal")


def _rehearsal(name: str) -> Any:
    """Return a module of the room that runs scripts in confined Blenders."""
    return importlib.import_module(f"{_PACKAGE}.sandbox.rehearsal.{name}")


def _files(given: argparse.Namespace) -> int:
    files = json.loads(given.files.read_text(encoding="utf-8"))
    chunk = json.loads(given.chunks.read_text(encoding="utf-8"))[given.chunk]
    code = given.code.read_text(encoding="utf-8")
    failed = 0
    for at, number in enumerate(chunk, 1):
        if not _is_done(given, number):
            print(f"openjd_status: file {number}", flush=True)
            failed += not _file(given, number, files[number - 1], code)
        print(f"openjd_progress: {100 * at / len(chunk):.1f}", flush=True)
    return int(failed > 0)


def _file(given: argparse.Namespace, number: int, file: dict[str, Any], code: str) -> bool:
    _tell(given, number, state="begun")
    try:
        part = given.results / f"file_{number}.part"
        part.unlink(missing_ok=True)
        source = Path(file["file"])
        how = {"compress": _is_compressed(source), "relative": file["relative"]}
        prepared = _rehearsal("prepare").prepare_file(source, Path(file["folder"]), **how)
        report = (
            _rehearsal("rehearse").rehearse(prepared, code, level=given.level, pictures=False, to=part).report
        )
        if report["outcome"] != "success":
            line = report["error"].get("line")
            raise RuntimeError(report["error"]["message"] + (f" (line {line})" if line else ""))
        os.replace(part, given.results / f"file_{number}.blend")
    except Exception as error:
        known = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        _tell(given, number, state="failed", error=f"{known}{error}"[:1000])
        return False
    _tell(given, number, state="done")
    return True


def _is_compressed(path: Path) -> bool:
    found: bool = importlib.import_module(f"{_PACKAGE}.sandbox.rehearsal.copies").is_compressed(path)
    return found


def _is_done(given: argparse.Namespace, number: int) -> bool:
    """Return whether a file is done: after losing a worker, an engine may run a task again."""
    try:
        told = json.loads((given.results / f"file_{number}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(told["state"] == "done")


def _tell(given: argparse.Namespace, number: int, **known: object) -> None:
    """Write the report on a file: under another name first, so that nobody reads half of it."""
    worker = os.environ.get("SLURMD_NODENAME") or platform.node()
    told = {"file": number, "attempt": given.attempt, "worker": worker, **known}
    waiting = given.results / f"file_{number}.json.new"
    waiting.write_text(json.dumps(told), encoding="utf-8")
    os.replace(waiting, given.results / f"file_{number}.json")


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    try:
        code = main(given)
    except SystemExit as stop:
        print(stop.code, file=sys.stderr)
        code = stop.code if isinstance(stop.code, int) else 2
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = 2
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
