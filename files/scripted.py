# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a script on .blend files of the allowed folders: each in a confined Blender, which saves the result as a copy.

The files themselves do not change. `prepare` needs the main thread, `run` any other thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from ..base.errors import (
    BridgeError,
    Cancelled,
    ExternalServiceError,
    InvalidParamsError,
    PolicyError,
    failure_of,
)
from ..sandbox.rehearsal import copies, rehearse
from ..sandbox.rehearsal.prepare import Prepared, prepare_file
from ..sandbox.run import execute
from . import allowed_folders

__all__ = ("MOST_FILES", "FileResult", "Item", "pairs", "prepare", "ready", "run")

MOST_FILES = 1000
#: The most characters of a script's result for one file.
_MOST_SHOWN = 10_000


class FileResult(TypedDict):
    """The outcome for one file: the path of its copy and the script's result, or why there is no copy."""

    file: str
    status: Literal["saved", "failed"]
    saved_as: NotRequired[str]
    result: NotRequired[Any]
    stdout: NotRequired[str]
    warnings: NotRequired[list[str]]
    message: NotRequired[str]
    error: NotRequired[str]
    line: NotRequired[int]


@dataclass(frozen=True, slots=True)
class Item:
    """A file, the path of its copy, and its allowed folder; `seen` shows later whether the file has changed."""

    source: Path
    to: Path
    folder: Path
    seen: tuple[int, int]


def pairs(paths: Sequence[str], save_as: str, folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return each file in `paths` with the path of its copy, from `save_as`.

    In `save_as`, `{name}` and `{folder}` are those of the file. Raises what `allowed_folders.existing` raises, and
    InvalidParamsError if two copies would have the same name.
    """
    found: dict[Path, str] = {}
    for path in paths:
        source = allowed_folders.existing(path, folders, {".blend"})
        place = save_as.replace("{name}", source.stem).replace("{folder}", str(source.parent))
        if source in found:
            raise InvalidParamsError(f"{source} is named twice: name each file once.")
        if place in found.values():
            raise InvalidParamsError(
                f"Several copies would be {place!r}: put {{name}} into save_as, such as '{{name}}_new.blend'."
            )
        found[source] = place
    return list(found.items())


def prepare(found: Sequence[tuple[Path, Path]], folders: Sequence[Path]) -> list[Item]:
    """Return the files with the resolved paths of their copies. Raises InvalidParamsError for a copy over a file."""
    sources = {source for source, _ in found}
    for source, to in found:
        if to in sources:
            raise InvalidParamsError(
                f"{to} is one of the files, which stay as they are: choose another name for the copy of {source.name}."
            )
    return [Item(source, to, _folder_of(source, folders), _stamp_of(source)) for source, to in found]


def run(
    items: Sequence[Item],
    prepared: Sequence[Prepared],
    script: str,
    *,
    overwrite: frozenset[Path],
    begins: Callable[[Item], None],
    saved: Callable[[Item], None],
    cancelled: Callable[[], bool],
) -> Iterator[FileResult]:
    """Run the script on one file after the other; yield each outcome.

    Calls `begins` before each file and `saved` after each success. Raises Cancelled; copies that are already saved
    stay.
    """
    for item, own in zip(items, prepared, strict=True):
        told: FileResult = {"file": str(item.source), "status": "failed"}
        try:
            begins(item)
            told |= _one(item, own, script, overwrite, cancelled)  # type: ignore[typeddict-item]
        except Cancelled:
            raise
        except BridgeError as error:
            told["message"], told["error"] = str(error), failure_of(error)["error"]
        if told["status"] == "saved":
            saved(item)
        yield told


def ready(item: Item) -> Prepared:
    """Prepare one file for `run`. Main thread. Raises ExternalServiceError if it cannot be read or confined."""
    try:
        compress = copies.is_compressed(item.source)
        return prepare_file(
            item.source, item.folder, compress=compress, relative=item.to.parent == item.source.parent
        )
    except OSError as error:
        raise ExternalServiceError(f"{item.source} cannot be read: {error.strerror or error}.") from None


def _one(
    item: Item,
    prepared: Prepared,
    script: str,
    overwrite: frozenset[Path],
    cancelled: Callable[[], bool],
) -> dict[str, Any]:
    if cancelled():
        raise Cancelled
    if _stamp_of(item.source) != item.seen:
        raise PolicyError(f"{item.source} has changed since the user agreed: nothing was done.", code="files")
    with allowed_folders.staging(item.to.parent) as staging:
        waiting = staging / item.to.name
        report = rehearse.rehearse(
            prepared, script, title=item.source.name, pictures=False, cancelled=cancelled, to=waiting
        ).report
        told = {name: report[name] for name in ("result", "stdout", "warnings") if report[name]}
        told = {name: _bounded(value) for name, value in told.items()}
        if report["outcome"] != "success":
            error = report["error"]
            said = error["message"].removeprefix(f"{execute.COMMAND} failed: ")
            told |= {"message": said, "error": error["type"]}
            return told | ({"line": error["line"]} if error.get("line") else {})
        allowed_folders.move(waiting, item.to, overwrite=item.to in overwrite)
    return told | {"status": "saved", "saved_as": str(item.to)}


def _bounded(value: Any) -> Any:
    text = json.dumps(value)
    return value if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text):,} characters of JSON)"


def _folder_of(source: Path, folders: Sequence[Path]) -> Path:
    return next(root for folder in folders if source.is_relative_to(root := folder.resolve()))


def _stamp_of(source: Path) -> tuple[int, int]:
    try:
        facts = source.stat()
    except OSError as error:
        raise InvalidParamsError(f"{source} cannot be read: {error.strerror or error}.") from None
    return facts.st_size, facts.st_mtime_ns
