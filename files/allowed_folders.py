# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that an assistant reads and writes files only inside the folders that the user named. No `bpy`.

A path is parsed and then resolved before use. A path that goes up, through a link, to a device, to a stream or to
another computer is refused.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath

from ..base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from ..base.file_names import harmless

__all__ = ("existing", "folder_below", "move", "staging", "target")

_LONGEST = 1000
_NOWHERE = (
    "No folder is named for files, so nothing may be read or written. Ask the user to name one in the preferences "
    "of MCP Bridge (Files > Folders), or in BLENDER_MCP_FOLDERS."
)


def target(path: str, folders: Sequence[Path], suffixes: Collection[str]) -> Path:
    """Return the resolved path of a file to write. The caller checks whether the file exists already.

    `path` is relative to the first of the folders, or absolute and inside one of them.

    Raises PolicyError for a path where nothing may be written, InvalidParamsError for an invalid name.
    """
    found = _place(path, folders, suffixes)
    _require_plain(found, path)
    return found


def existing(path: str, folders: Sequence[Path], suffixes: Collection[str]) -> Path:
    """Return the resolved path of a file to read. Raises what `target` raises, and also if the file does not exist."""
    found = target(path, folders, suffixes)
    if not found.is_file():
        raise InvalidParamsError(f"There is no file {found}.")
    return found


@contextmanager
def staging(parent: Path, name: str | None = None) -> Iterator[Path]:
    """Make a temporary folder beside the target for writing, from which one rename moves the finished file.

    If `name` is given, no other code may use it: the folder that a crash left behind under this name is removed first.
    """
    try:
        if name is None:
            folder = Path(tempfile.mkdtemp(prefix=".mcp_bridge_", dir=parent))
        else:
            folder = parent / f".mcp_bridge_{name}"
            shutil.rmtree(folder, ignore_errors=True)  # rmtree follows no links
            folder.mkdir(mode=0o700)
    except OSError as error:
        raise ExternalServiceError(
            f"Nothing can be written to {parent}: {error.strerror or error}."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_below(parent: Path, folder: Path) -> None:
    """Create `folder` inside the resolved `parent`. Raises PolicyError if a part of the path is a link."""
    made = parent
    for part in folder.relative_to(parent).parts:
        made /= part
        if made.is_symlink():
            raise PolicyError(
                f"{made} is a link, so nothing is written there: choose a folder without links.", code="files"
            )
        try:
            made.mkdir(exist_ok=True)
        except OSError as error:
            raise ExternalServiceError(f"{made} cannot be made: {error.strerror or error}.") from None


def move(source: Path, to: Path, *, overwrite: bool) -> None:
    """Move a finished file to its place in one step. Without `overwrite`, an existing file stays.

    Raises PolicyError for such a file, and ExternalServiceError for an error of the disk.
    """
    _require_plain(to, to.name)
    try:
        if overwrite:
            os.replace(source, to)
            return
        if to.exists():
            raise PolicyError(
                f"{to} exists already, and the user did not agree to overwrite it.", code="overwrite"
            )
        try:
            os.link(source, to)  # fails if the file exists by now; a rename would replace it
        except FileExistsError:
            raise PolicyError(
                f"{to} was made by another program meanwhile, and the user did not agree to overwrite it.",
                code="overwrite",
            ) from None
        except OSError:  # a file system without links
            os.replace(source, to)
        else:
            source.unlink()
    except OSError as error:
        raise ExternalServiceError(f"{to} cannot be written: {error.strerror or error}.") from None


def _place(path: str, folders: Sequence[Path], suffixes: Collection[str]) -> Path:
    if not folders:
        raise PolicyError(_NOWHERE, code="files")
    given = PurePath(path)
    if not path.strip() or len(path) > _LONGEST or not path.isprintable() or path.startswith(("//", "\\\\")):
        raise InvalidParamsError(
            f"The path {path[:80]!r} cannot be used: give a file name such as 'chair.glb'."
        )
    if given.suffix.lower() not in suffixes:
        raise InvalidParamsError(f"{path!r}: the name has to end in {', '.join(sorted(suffixes))}.")
    for folder in folders:
        below = _below(given, folder)
        if below is not None:
            return _resolved(below, folder, path)
    raise PolicyError(_outside(path, folders), code="files")


def _below(given: PurePath, folder: Path) -> PurePath | None:
    """Return the path relative to the folder; it may begin with the folder as the user wrote it, or resolved."""
    if not given.is_absolute():
        return None if given.drive or given.root else given
    for known in (folder, folder.resolve()):
        if given.is_relative_to(known):
            return given.relative_to(known)
    return None


def _resolved(below: PurePath, folder: Path, path: str) -> Path:
    for part in below.parts:
        if not harmless(part) or part.startswith("."):
            raise PolicyError(
                f"{path!r}: {part!r} is not a plain name: choose a path without '..' and without hidden or "
                "reserved names.",
                code="files",
            )
    root = folder.resolve()
    try:
        parent = (root / below).parent.resolve(strict=True)
    except OSError:
        raise InvalidParamsError(f"{path!r}: there is no folder {(root / below).parent}.") from None
    if not parent.is_relative_to(root):
        raise PolicyError(
            f"{path!r} leads out of {folder} through a link: choose a path that stays inside.", code="files"
        )
    if not parent.is_dir():
        raise InvalidParamsError(f"{path!r}: {parent} is no folder.")
    return parent / below.name


def _require_plain(found: Path, path: str) -> None:
    """Raise PolicyError if the path exists and is not an ordinary file but a link, a device or a folder."""
    try:
        kind = found.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidParamsError(f"{path!r} cannot be looked at: {error.strerror or error}.") from None
    if stat.S_ISLNK(kind):
        raise PolicyError(f"{path!r} is a link: name the file that it leads to.", code="files")
    if not stat.S_ISREG(kind):
        raise PolicyError(f"{path!r} is no ordinary file: choose another path.", code="files")


def _outside(path: str, folders: Sequence[Path]) -> str:
    named = ", ".join(str(folder) for folder in folders)
    return f"{path!r} is not in a folder that the user named for files: {named}."
