# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that write and open files, in the folders that the preferences name."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import bpy

from ...approvals import consent
from ...base import journal, main_thread, settings
from ...base.errors import Cancelled, ExternalServiceError, InvalidParamsError, PolicyError
from ...files import allowed_folders, exporting, file_kinds
from ...files.client_files import ClientFile, Sent, as_sent, store
from ...importers.opening import foreign
from ...sandbox import confinement
from ...scene import events
from ..file_links import link
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from .registry import tool
from .schema import Bounds

__all__ = (
    "agreed_to_overwrite",
    "export_file",
    "in_worker_thread",
    "note",
    "on_main_thread",
    "open_file",
    "question_key",
    "save_copy",
    "save_file",
    "target",
)

T = TypeVar("T")

#: The most files that a question names.
_MOST_NAMED = 10
_BLEND = frozenset({".blend"})
_ops: Any = bpy.ops

FilePath = Annotated[str, Bounds(shortest=1, longest=1000)]


class Written(TypedDict):
    """The files that were written, or the note that the user has to answer first."""

    status: Literal["success", "pending"]
    path: NotRequired[str]
    #: All files that were written, the requested one first.
    files: NotRequired[list[str]]
    bytes: NotRequired[int]
    objects: NotRequired[int]
    #: The links for the client, instead of files in a folder.
    downloads: NotRequired[list[Sent]]
    job_id: NotRequired[str]
    message: NotRequired[str]


class Opened(TypedDict):
    """The file that is open now, or the note that the user has to answer first."""

    status: Literal["success", "pending"]
    path: NotRequired[str]
    objects: NotRequired[int]
    #: Scripts in the file that did not run.
    blocked: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Export File", destructive=True, open_world=False, output=Written)
async def export_file(
    context: RequestContext,
    path: FilePath,
    objects: Annotated[list[str], Bounds(shortest=1)] | None = None,
    collection: str | None = None,
    selected_only: bool = False,
    animation: bool = True,
    download: bool = False,
) -> ToolResult:
    """Export objects to a file, as its name ends: .glb, .gltf, .fbx, .obj, .usd, .usda, .usdc, .stl or .ply. Only
    into folders that the preferences name; overwriting asks the user.

    path: absolute, or relative to the first of those folders.
    objects: only these, by name; without any choice all that are visible.
    collection: only the objects in it and below.
    download: to you as links instead; path is then only a name.
    """
    choice: dict[str, Any] = {"objects": objects, "collection": collection, "selected_only": selected_only}
    choice["animation"] = animation
    if download:
        return await _exported_for_client(context, path, choice)
    to = await target(context, path, exporting.SUFFIXES)
    with allowed_folders.staging(to.parent) as folder:
        count = await on_main_thread(context, partial(_export, folder / to.name, **choice))
        made = sorted(found for found in folder.rglob("*") if found.is_file())
        goes_to = {source: to.parent / source.relative_to(folder) for source in made}
        agreed = await agreed_to_overwrite(context, list(goes_to.values()))
        await note("file_exported", context, to)
        size = sum(source.stat().st_size for source in made)
        for source, place in goes_to.items():
            allowed_folders.folder_below(to.parent, place.parent)
            allowed_folders.move(source, place, overwrite=place in agreed)
            store.note_written(context.client.id, place)
    files = sorted(map(str, goes_to.values()), key=lambda name: (name != str(to), name))
    facts = {"status": "success", "path": str(to), "files": files, "bytes": size, "objects": count}
    return ToolResult(structured=facts)


async def _exported_for_client(context: RequestContext, path: str, choice: dict[str, Any]) -> ToolResult:
    """Export into a folder of ours, and put the results into the client's files."""
    name = file_kinds.clean_name(path)
    if Path(name).suffix.lower() not in exporting.SUFFIXES:
        raise InvalidParamsError(f"{name!r}: the name has to end in {', '.join(sorted(exporting.SUFFIXES))}.")
    with foreign.scratch(confinement.current()) as folder:
        count = await on_main_thread(context, partial(_export, folder / name, **choice))

        def take() -> list[ClientFile]:
            found = sorted(path for path in folder.rglob("*") if path.is_file())
            found.sort(key=lambda path: path.name != name)
            return store.take_all(
                context.client.id, {one.relative_to(folder).as_posix(): one for one in found}
            )

        await note("file_exported", context, Path(name))
        made = await asyncio.to_thread(take)
    facts: dict[str, Any] = {"status": "success", "path": name, "files": [file.name for file in made]}
    facts |= {"bytes": sum(file.size for file in made), "objects": count, "downloads": [*map(as_sent, made)]}
    block, structured = content.text_and_structure(facts)
    return ToolResult([*map(link, made), block], structured)


@tool(title="Save File", destructive=True)
async def save_file(context: RequestContext, path: FilePath | None = None) -> Written:
    """Save the open file, under its own name or another, which it then has. Only into folders that the preferences
    name; overwriting, also the file itself, asks the user.

    path: a .blend, absolute or relative to the first of those folders; without it the file's own.
    """
    own = await on_main_thread(context, lambda: bpy.data.filepath)
    if path is None and not own:
        raise InvalidParamsError("The open file has no name yet: give a path.")
    return await _saved(context, path or own, copy=False)


@tool(title="Save Copy", destructive=True)
async def save_copy(context: RequestContext, path: FilePath) -> Written:
    """Save a copy of the open file, which stays what it is. Only into folders that the preferences name;
    overwriting asks the user.

    path: a .blend, absolute or relative to the first of those folders.
    """
    return await _saved(context, path, copy=True)


@tool(title="Open File", destructive=True)
async def open_file(context: RequestContext, path: FilePath) -> Opened:
    """Open another .blend in place of the open one, with scripts off, after the user's approval. Only from folders that
    the user named.

    path: absolute, or relative to the first of those folders.
    """
    source = allowed_folders.existing(path, _folders(), _BLEND)
    while True:
        open_now, unsaved, number = await on_main_thread(context, _what_is_open)
        lost = (
            f"Unsaved changes in {open_now} will be lost."
            if unsaved
            else f"This closes {open_now}, which has no unsaved changes."
        )
        await consent.confirm(
            context,
            question_key("open", str(source), open_now, unsaved, number),
            f"Open {source}? {lost}",
            title=f"Open {source.name}",
            otherwise="Opening another file needs the user's approval, which this client can't ask for.",
        )
        await note("file_opened", context, source)
        opened = await on_main_thread(context, partial(_open, source, (open_now, unsaved, number)))
        if opened is not None:
            return opened


async def _saved(context: RequestContext, path: str, *, copy: bool) -> Written:
    to = await target(context, path, _BLEND)
    number = await on_main_thread(context, events.loads)
    agreed = bool(await agreed_to_overwrite(context, [to]))
    await note("file_saved", context, to)
    await on_main_thread(context, partial(_save, to, copy=copy, number=number, overwrite=agreed))
    store.note_written(context.client.id, to)
    return {"status": "success", "path": str(to), "files": [str(to)], "bytes": to.stat().st_size}


# --- asking ---------------------------------------------------------------------------------------------------


async def agreed_to_overwrite(context: RequestContext, files: Collection[Path]) -> frozenset[Path]:
    """Return those of the files that exist, after the user has agreed to lose them. Raises PolicyError.

    This asks no question about files that this client wrote and that have not changed since.
    """
    there = frozenset(file for file in files if file.exists() or file.is_symlink())
    lost = {file for file in there if not store.wrote(context.client.id, file)}
    if lost:
        names = _named(lost)
        await consent.confirm(
            context,
            question_key("overwrite", *sorted(map(str, lost))),
            f"Overwrite {names}?",
            title=f"Overwrite {min(lost).name}",
            otherwise=f"{names}: there already, and overwriting needs the user's approval, which this client can't "
            "ask for. Choose another name.",
        )
    return there


def _named(files: Collection[Path]) -> str:
    names = sorted(map(str, files))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def question_key(what: str, *facts: object) -> str:
    """Return a key that names a question by all of its facts, so that a yes answers no other question."""
    return f"{what}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


def _folders() -> Sequence[Path]:
    return settings.current().file_folders or ()


async def target(context: RequestContext, path: str, suffixes: Collection[str]) -> Path:
    """Return the file that `path` names, for writing. Raises what `allowed_folders.target` raises."""
    to = allowed_folders.target(path, _folders(), suffixes)
    own = await on_main_thread(context, lambda: Path(bpy.utils.resource_path("USER")))
    if to.is_relative_to(own.resolve()):
        raise PolicyError(
            f"{to} is among Blender's own settings, where assistants may not write.", code="files"
        )
    return to


async def note(event: str, context: RequestContext, path: Path) -> None:
    """Record in the journal what is about to happen to a file: on the disk when this returns."""
    await asyncio.to_thread(note_here, event, context, path)


def note_here(event: str, context: RequestContext, path: Path) -> None:
    """Record what is about to happen to a file, on a thread that may wait for the disk."""
    journal.current().write(event, requester=context.client.name, client=context.client.id, path=str(path))


# --- on Blender's main thread ---------------------------------------------------------------------------------


async def on_main_thread(context: RequestContext, do: Callable[[], T]) -> T:
    """Run `do` on Blender's main thread, after the user has finished a current operation."""
    work = main_thread.run(do, cancelled=context.cancelled, label="the file")
    return await asyncio.wrap_future(work)


async def in_worker_thread(do: Callable[..., T], *arguments: Any) -> T:
    """Run `do` in a worker thread. Its Cancelled becomes asyncio's CancelledError, which ends the call."""
    try:
        return await asyncio.to_thread(do, *arguments)
    except Cancelled:
        raise asyncio.CancelledError from None


def _export(to: Path, *, animation: bool, **choice: Any) -> int:
    items = exporting.chosen(**choice)
    exporting.export(to, items, animation=animation)
    return len(items)


def _save(to: Path, *, copy: bool, number: int, overwrite: bool) -> None:
    if events.loads() != number:
        raise PolicyError("Another file was opened meanwhile, so nothing was saved.", code="files")
    if to.exists() and not overwrite:
        raise PolicyError(
            f"{to} exists by now, and the user did not agree to overwrite it: nothing was saved.",
            code="overwrite",
        )
    with exporting.in_window():
        try:
            _ops.wm.save_as_mainfile(filepath=str(to), copy=copy, check_existing=False)
        except RuntimeError as error:
            raise ExternalServiceError(f"Blender could not save: {error}") from None


def _what_is_open() -> tuple[str, bool, int]:
    return bpy.data.filepath or "the unnamed file", events.unsaved(), events.loads()


def _open(source: Path, agreed: tuple[str, bool, int]) -> Opened | None:
    """Open the file; return None if the open file has changed since the user agreed to lose it."""
    if _what_is_open() != agreed:
        return None
    with exporting.in_window():
        try:
            _ops.wm.open_mainfile(filepath=str(source), load_ui=False, use_scripts=False)
        except RuntimeError as error:
            raise ExternalServiceError(f"Blender could not open {source}: {error}") from None
    opened: Opened = {"status": "success", "path": str(source), "objects": len(bpy.data.objects)}
    blocked = str(bpy.app.autoexec_fail_message) if bpy.app.autoexec_fail else ""
    return {**opened, "blocked": blocked} if blocked else opened
