# SPDX-License-Identifier: GPL-3.0-or-later
"""A script on .blend files of the named folders: each in a confined Blender, the result saved as a copy.

The files themselves stay as they are. Main thread for `prepare`, any other one for `run`.
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
from ..sandbox.run import execute
from . import allowed_folders

__all__ = ("MOST_FILES", "FileResult", "Item", "pairs", "prepare", "ready", "run")

MOST_FILES = 1000
#: Characters of what a script gives back of one file.
_MOST_SHOWN = 10_000


class FileResult(TypedDict):
    """What became of a file: where its copy is, with the script's result, or why there is none."""

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
    """A file, where its copy goes, and the named folder that it lies in; `seen` tells whether it is still the same."""

    source: Path
    to: Path
    folder: Path
    seen: tuple[int, int]


def pairs(paths: Sequence[str], save_as: str, folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file that `paths` name, with the path of its copy: `{name}` and `{folder}` stand for the file's own.

    Raises as `allowed_folders.existing`, and InvalidParamsError where two copies would have one name.
    """
    found: dict[Path, str] = {}
    for path in paths:
        source = allowed_folders.existing(path, folders, {".blend"})
        place = save_as.replace("{name}", source.stem).replace("{folder}", str(source.parent))
        if source in found:
            raise InvalidParamsError(f"{source} stands there twice: name each file once.")
        if place in found.values():
            raise InvalidParamsError(
                f"Several copies would be {place!r}: put {{name}} into save_as, such as '{{name}}_new.blend'."
            )
        found[source] = place
    return list(found.items())


def prepare(found: Sequence[tuple[Path, Path]], folders: Sequence[Path]) -> list[Item]:
    """Files with the resolved places of their copies. Raises InvalidParamsError where a copy would replace a file."""
    sources = {source for source, _ in found}
    for source, to in found:
        if to in sources:
            raise InvalidParamsError(
                f"{to} is one of the files, which stay as they are: choose another name for the copy of {source.name}."
            )
    return [Item(source, to, _folder_of(source, folders), _seen(source)) for source, to in found]


def run(
    items: Sequence[Item],
    prepared: Sequence[rehearse.Prepared],
    script: str,
    *,
    overwrite: frozenset[Path],
    begins: Callable[[Item], None],
    saved: Callable[[Item], None],
    cancelled: Callable[[], bool],
) -> Iterator[FileResult]:
    """What became of one file after the other. `begins` and `saved` are called before and after each that goes well.

    Raises Cancelled; what is saved by then stays.
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


def ready(item: Item) -> rehearse.Prepared:
    """What `run` needs of a file. Main thread. Raises ExternalServiceError where it cannot be read or confined."""
    try:
        compress = copies.is_compressed(item.source)
        return rehearse.prepare_file(
            item.source, item.folder, compress=compress, relative=item.to.parent == item.source.parent
        )
    except OSError as error:
        raise ExternalServiceError(f"{item.source} cannot be read: {error.strerror or error}.") from None


def _one(
    item: Item,
    prepared: rehearse.Prepared,
    script: str,
    overwrite: frozenset[Path],
    cancelled: Callable[[], bool],
) -> dict[str, Any]:
    if cancelled():
        raise Cancelled
    if _seen(item.source) != item.seen:
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


def _seen(source: Path) -> tuple[int, int]:
    try:
        facts = source.stat()
    except OSError as error:
        raise InvalidParamsError(f"{source} cannot be read: {error.strerror or error}.") from None
    return facts.st_size, facts.st_mtime_ns
