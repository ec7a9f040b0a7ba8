# SPDX-License-Identifier: GPL-3.0-or-later
"""`os`, `os.path`, `shutil` and `tempfile` for scripts: they compute with paths as text and see no files.

A function that asks about a file answers that there is none, and a function that makes a folder does nothing; both say
so in the result. Functions that read, write or start something are refused when a script calls them (`reasons`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any, Final

from ..guard.seam import Guard
from .disk import Disk
from .pathlib import text_of

__all__ = ("FOLDER", "os_members", "path_members", "shutil_members", "tempfile_members")

FOLDER: Final = "/"
"""The current folder that a script sees."""
_TEMPORARY: Final = "/tmp"  # noqa: S108 - a text, no folder
_OF_ONE: Final = ("basename", "dirname", "isabs", "normcase", "normpath", "split", "splitdrive", "splitext")
_ASKING: Final = ("exists", "isdir", "isfile", "islink", "ismount", "lexists")
_CONSTANTS: Final = {
    "sep": "/",
    "altsep": None,
    "extsep": ".",
    "pathsep": ":",
    "curdir": ".",
    "pardir": "..",
    "devnull": "/dev/null",
}


def os_members(guard: Guard) -> dict[str, object]:
    """Return the members of `os`, for one run."""
    disk = Disk(guard)
    environment: dict[str, str] = {}

    def getenv(_name: Any, default: Any = None) -> Any:
        return default

    return {
        **_CONSTANTS,
        "linesep": "\n",
        "name": "posix",
        "environ": environment,
        "getenv": getenv,
        "getcwd": lambda: FOLDER,
        "fspath": lambda path: text_of(guard, path),
        "makedirs": disk.make_folder,
        "mkdir": disk.make_folder,
        "cpu_count": lambda: 1,
        "getpid": lambda: 1,
    }


def path_members(guard: Guard) -> dict[str, object]:
    """Return the members of `os.path`, for one run."""
    disk = Disk(guard)

    def text(path: Any) -> str:
        return text_of(guard, path)

    def of_one(function: Callable[[str], Any]) -> Callable[[Any], Any]:
        return lambda path: function(text(path))

    def join(path: Any, *paths: Any) -> str:
        return text(posixpath.join(text(path), *map(text, paths)))

    def abspath(path: Any) -> str:
        return posixpath.normpath(posixpath.join(FOLDER, text(path)))

    def relpath(path: Any, start: Any = FOLDER) -> str:
        return posixpath.relpath(abspath(path), abspath(start))

    def several(function: Callable[[list[str]], str]) -> Callable[[Any], str]:
        return lambda paths: function([text(path) for path in guard.iterated(paths)])

    return {
        **_CONSTANTS,
        **{name: of_one(getattr(posixpath, name)) for name in _OF_ONE},
        **dict.fromkeys(_ASKING, disk.has),
        "join": join,
        "abspath": abspath,
        "realpath": abspath,
        "relpath": relpath,
        "expanduser": text,
        "expandvars": text,
        "commonpath": several(posixpath.commonpath),
        "commonprefix": several(posixpath.commonprefix),
    }


def shutil_members(guard: Guard) -> dict[str, object]:
    """Return the members of `shutil`: its `which` finds no program."""
    disk = Disk(guard)

    def which(cmd: Any, *_rest: Any, **_options: Any) -> None:
        disk.has(cmd)

    return {"which": which}


def tempfile_members(guard: Guard) -> dict[str, object]:
    """Return the members of `tempfile`: they return names of folders, and make none."""
    disk = Disk(guard)

    def mkdtemp(suffix: Any = "", prefix: Any = "tmp", dir: Any = None) -> str:  # noqa: A002 - as Python calls it
        disk.make_folder()
        parts = (_TEMPORARY if dir is None else dir, "/", prefix or "tmp", suffix or "")
        return "".join(text_of(guard, part) for part in parts)

    return {"gettempdir": lambda: _TEMPORARY, "mkdtemp": mkdtemp, "tempdir": None}
