# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the Blender for rehearsals: this Blender's program, the `bpy` module, or one that the user named."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import ExternalServiceError

__all__ = ("Program", "find")

#: Runs the module `facts['main']` as part of a package of its own, from the extension's files, without enabling it.
_BOOT = (
    "import importlib, json, sys, types; facts = json.loads(sys.argv[-1]); sys.path += facts['libraries']; "
    "package = types.ModuleType('mcp_bridge'); package.__path__ = [facts['extension']]; "
    "sys.modules['mcp_bridge'] = package; "
    "say = importlib.import_module('mcp_bridge.sandbox.confinement.answering').opened(); "
    "importlib.import_module(facts['main']).main(facts, say)"
)
_MAIN = "mcp_bridge.sandbox.rehearsal.child"


@dataclass(frozen=True, slots=True)
class Program:
    """A command line without its last argument, the facts, and the files that it must be able to read."""

    start: tuple[str, ...]
    facts: tuple[tuple[str, object], ...]
    readable: tuple[Path, ...]
    #: Options after the program's name that make it start no threads for its work.
    one_thread: tuple[str, ...] = ()

    def command(self, *, one_thread: bool = False, **facts: object) -> tuple[str, ...]:
        """Return the whole command line; the child also gets `facts`."""
        name, *options = self.start
        return (
            name,
            *(self.one_thread if one_thread else ()),
            *options,
            json.dumps(dict(self.facts) | facts),
        )


def find(named: Path | None = None) -> Program:
    """Return the program for rehearsals; call on Blender's main thread.

    named: another Blender than this one.

    Raises ExternalServiceError if it does not exist.
    """
    import bpy
    import RestrictedPython

    extension = Path(__file__).resolve().parents[2]
    libraries = [str(Path(RestrictedPython.__file__).resolve().parents[1])]
    readable = [extension, Path(libraries[0])]
    binary = str(named) if named is not None else bpy.app.binary_path
    if named is not None and shutil.which(binary) is None:
        raise ExternalServiceError(
            f"There is no Blender at {binary}, which the preferences name for rehearsals: correct the path."
        )
    if binary:
        real = Path(binary).resolve()
        start = [
            *(binary, "--background", "--factory-startup", "--offline-mode", "--python-exit-code", "3"),
            *("--python-expr", _BOOT, "--"),
        ]
        readable += [real.parent]
        if named is None:
            readable += [Path(bpy.utils.resource_path(kind)) for kind in ("LOCAL", "SYSTEM")]
    else:
        module = Path(bpy.__file__).resolve()
        # …/site-packages/bpy/4.2/scripts/modules/bpy/__init__.py or …/site-packages/bpy/__init__.py
        package = next(folder for folder in reversed(module.parents) if folder.name == "bpy")
        libraries.append(str(package.parent))
        start = [sys.executable, "-s", "-P", "-B", "-c", _BOOT]
        readable += [package.parent]
    facts = (("extension", str(extension)), ("libraries", libraries), ("main", _MAIN))
    existing = tuple(path for path in readable if path.exists() and path.parent != path)
    return Program(tuple(start), facts, existing, ("--threads", "1") if binary else ())
