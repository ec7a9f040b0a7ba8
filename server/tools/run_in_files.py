# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that runs one script on many .blend files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict

from ...approvals import consent, pipeline
from ...approvals.steps import check
from ...base import settings
from ...files import scripted
from ...files.client_files import store
from ...files.scripted import FileResult, Item
from ...rendering.farms.targets import Target
from ...sandbox.language.compile import ScriptRefused
from ...sandbox.run import gates
from ...sandbox.run.record import Record
from ..protocol.context import WAIT_SECONDS, RequestContext
from ..protocol.messages.content import ToolResult
from . import files, target_files
from .code import runs_scripts
from .registry import tool
from .schema import Bounds

#: The most files that a question names, and the most characters of the script that it shows.
_MOST_NAMED, _LONGEST_SCRIPT = 30, 20_000

Paths = Annotated[
    list[Annotated[str, Bounds(shortest=1, longest=1000)]], Bounds(shortest=1, longest=scripted.MOST_FILES)
]


class FilesResult(TypedDict):
    """The outcome for each file, or the job that works on the files."""

    status: Literal["success", "pending"]
    saved: NotRequired[int]
    failed: NotRequired[int]
    files: NotRequired[list[FileResult]]
    dry_run: NotRequired[bool]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Run in Files", destructive=True, output=FilesResult)
@runs_scripts
async def run_in_files(
    context: RequestContext,
    paths: Paths,
    code: str,
    save_as: Annotated[str, Bounds(shortest=1, longest=1000)],
    where: Annotated[str, Bounds(longest=40)] = "",
    wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = 5,
) -> ToolResult:
    """Run Python on .blend files other than the open one, each in a confined Blender, and save what comes of it as
    copies; the files stay as they are. Only in folders that the preferences name, after one approval of script and
    files.
    A job: get_job tells how far it is and then the result of each file, cancel_job stops it.

    paths: .blend files, absolute or relative to the first of those folders.
    code: as for execute_blender_code; it runs once in each file, and the answer has the `result` of each run.
    save_as: where the copies go; {name} and {folder} stand for a file's own, such as `{folder}/{name}_clean.blend`.
    where: a render target that the user has set up, whose workers see the files under the same path. Outlasts this
        Blender; then the job tells which files are done and failed, without what the script gives back.
    """
    script = gates.text_of("code", code)
    if settings.current().dry_run:
        return ToolResult(structured=await pipeline.dry_run(context, script, ""))
    found = await check.validation(script)
    if found is not None and not found.is_valid:
        raise ScriptRefused(found.errors)
    to = target_files.target(where) if where else None
    items = await _items(context, paths, save_as)
    there = await _agreed(context, items, script, to)
    await asyncio.to_thread(_record, context, items, script, where)
    if to is not None:
        return await target_files.hand_on(
            context, to, items, script, title=_title(items), overwrite=bool(there)
        )
    prepared = await files.on_main_thread(context, lambda: [scripted.ready(item) for item in items])
    job = await context.background("files", _title(items), wait_seconds=wait_seconds)

    def work() -> list[FileResult]:
        done: list[FileResult] = []
        results = scripted.run(
            items,
            prepared,
            script,
            overwrite=there,
            begins=lambda item: files.note_here("file_saved", context, item.to),
            saved=lambda item: store.note_written(context.client.id, item.to),
            cancelled=job.cancelled.is_set,
        )
        for told in results:
            done.append(told)
            failed = sum(one["status"] == "failed" for one in done)
            more = f", {failed} failed" if failed else ""
            context.report_progress(len(done), len(items), f"{len(done)} of {len(items)} files{more}")
        return done

    done = await files.in_worker_thread(work)
    saved = sum(one["status"] == "saved" for one in done)
    facts: FilesResult = {"status": "success", "saved": saved, "failed": len(done) - saved, "files": done}
    return ToolResult(structured=facts)


async def _items(context: RequestContext, paths: Sequence[str], save_as: str) -> list[Item]:
    folders = settings.current().file_folders or ()
    pairs = await asyncio.to_thread(scripted.pairs, paths, save_as, folders)
    places = [(source, await files.target(context, to, {".blend"})) for source, to in pairs]
    return await asyncio.to_thread(scripted.prepare, places, folders)


async def _agreed(
    context: RequestContext, items: Sequence[Item], script: str, to: Target | None
) -> frozenset[Path]:
    """Return those copies that exist already, after the user has agreed to all. Raises PolicyError."""
    there = frozenset(item.to for item in items if item.to.exists())
    await consent.confirm(
        context,
        files.question_key("run-in-files", context.client.id, script, items, sorted(map(str, there)), to),
        _question(items, there, script, to),
        title=_title(items),
        otherwise="Running a script in files needs the user's approval, which this client can't ask for.",
    )
    return there


def _title(items: Sequence[Item]) -> str:
    return f"Run a script in {items[0].source.name if len(items) == 1 else f'{len(items)} files'}"


def _question(items: Sequence[Item], there: frozenset[Path], script: str, to: Target | None) -> str:
    shown = [
        f"  {item.source} → {item.to}{' (overwrites it)' if item.to in there else ''}"
        for item in items[:_MOST_NAMED]
    ]
    if len(items) > _MOST_NAMED:
        lost = sum(item.to in there for item in items[_MOST_NAMED:])
        shown.append(
            f"  and {len(items) - _MOST_NAMED} more" + (f", {lost} of them overwritten" if lost else "")
        )
    if len(script) > _LONGEST_SCRIPT:
        script = f"{script[:_LONGEST_SCRIPT]}\n… ({len(script):,} characters in all)"
    return "\n".join(
        [
            f"{_title(items)}{f' on {to.name} ({to.engine})' if to else ''}, and save the result as a copy?",
            *shown,
            *(["Workers have to see these files under the same path."] if to else []),
            "Each is opened in a confined Blender; the file itself stays as it is, and scripts in it do not run.",
            "",
            "The script:",
            script,
        ]
    )


def _record(context: RequestContext, items: Sequence[Item], script: str, where: str) -> None:
    """Record in the journal what is about to happen."""
    record = Record(
        script,
        tool="run_in_files",
        requester=context.client.name,
        client_id=context.client.id,
        title=_title(items),
    )
    record.write("run_in_files", where=where, files=[[str(item.source), str(item.to)] for item in items])
