# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that shows a whole script to the user, rehearsed, and runs it after an explicit approval."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, NotRequired, TypedDict

from ... import approvals
from ...approvals import pipeline, submit
from ...approvals.extract import NoScript, extract
from ...approvals.request import Entry, Mode, OutOfTurn, Refused
from ...approvals.steps import check
from ...base import folders, settings
from ...sandbox.language.compile import ScriptRefused
from ...sandbox.run import gates
from ..prompts import prompt_files
from ..protocol.context import WAIT_SECONDS, RequestContext
from ..protocol.messages import wire
from ..protocol.messages.content import ToolResult
from .code import CodeResult, runs_scripts
from .registry import tool
from .schema import Bounds, Shown

_MOST_TOKENS = 8000


class Attachment(TypedDict):
    """A script as a file: its text, or base64 of it as `blob`."""

    filename: NotRequired[str]
    mimeType: NotRequired[str]
    text: NotRequired[str]
    blob: NotRequired[str]


@tool(
    title="Inject BPY Script",
    destructive=True,
    output=CodeResult,
    other_names={"script_or_text": "script"},
    seldom=("wait_seconds",),
)
@runs_scripts
async def inject_bpy_script(
    context: RequestContext,
    script: Annotated[str | Attachment, Shown(str)],
    mode: Mode = "format-to-bpy",
    title: str = "",
    request_id: str | None = None,
    wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = WAIT_SECONDS,
) -> ToolResult:
    """Put a whole Blender script before the user. It is checked, rehearsed on a copy of the scene, shown with what
    it would change, and runs in the open scene only after the user's explicit approval.

    script: your text that holds the script, fenced or plain.
    mode: format-to-bpy takes the script out of an answer; contextual takes the text as it is.
    title: a few words on what the script does, for the user.
    request_id: of a request whose text was not valid, to send a better one.
    wait_seconds: how long to wait before answering pending; get_job has the outcome then.
    """
    if isinstance(script, str):
        gates.text_of("script", script)
    if settings.current().dry_run:
        code = script if mode == "contextual" and isinstance(script, str) else extract(script).script
        return ToolResult(structured=await pipeline.dry_run(context, code, title))
    entry = _entry(context, script, mode, title, request_id)
    with submit.working_on(entry) as mine:
        if not mine:
            return ToolResult(structured=submit.pending(entry))
        if entry.state in ("received", "extracted"):
            entry = await _valid(context, entry, script)
        return ToolResult(structured=await pipeline.run(context, entry, wait_seconds=wait_seconds))


def _entry(
    context: RequestContext, script: str | Attachment, mode: Mode, title: str, request_id: str | None
) -> Entry:
    raw = script if isinstance(script, str) else wire.encode(script)
    if request_id is None:
        return submit.request_for(context, "inject_bpy_script", raw, title=title, mode=mode)
    queue = approvals.queue()
    entry = queue.get(request_id)
    if entry.request.script_raw == raw and entry.request.client_id == context.client.id and not entry.ended:
        return entry
    if entry.state not in ("received", "extracted"):
        raise OutOfTurn(f"request {request_id} is {entry.state}: leave request_id out for a new one")
    return queue.resubmit(request_id, context.client.id, raw)


async def _valid(context: RequestContext, entry: Entry, answer: Any) -> Entry:
    """Return the request with a valid script; the client's model corrects it, if the client offers that."""
    problem: NoScript | ScriptRefused
    for attempt in range(1, entry.attempts_left + 1):
        try:
            return await check.check(check.script_of(entry, answer))
        except (NoScript, ScriptRefused) as error:
            problem = error
        if attempt == entry.attempts_left or not context.supports("sampling"):
            break
        answer = await _ask_model(context, f"reformat-{attempt}", answer, problem)
    entry = approvals.queue().refuse_text(entry.id, str(problem), attempts=attempt)
    raise await _once_more(entry, problem) from problem


async def _ask_model(context: RequestContext, key: str, answer: Any, problem: Exception) -> str:
    asked = f"{await _template()}\n\nThis was sent:\n\n{answer}\n\nWhat is wrong with it:\n\n{problem}"
    message = {"role": "user", "content": {"type": "text", "text": asked}}
    result = await context.sample(key, [message], _MOST_TOKENS)
    said = result["content"]
    blocks = said if isinstance(said, list) else [said]
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


async def _once_more(entry: Entry, problem: NoScript | ScriptRefused) -> Refused:
    """Return the error for the assistant: what is wrong, the strict template, and how many attempts are left."""
    line = getattr(problem, "line", None)
    if entry.ended:
        message = f"{problem}\n\nNo attempts are left: tell the user what is wrong."
    else:
        times = "once" if entry.attempts_left == 1 else "twice"
        message = (
            f"{problem}\n\nSend a better script with request_id {entry.id!r}; that can be done {times} more.\n\n"
            f"{await _template()}"
        )
    return Refused(
        message,
        code=getattr(problem, "code", "no_script"),
        line=line,
        request_id=entry.id,
        attempts_left=entry.attempts_left,
        **problem.facts,
    )


async def _template() -> str:
    """Return the strict template of the prompt `format-to-bpy`, the user's own one if there is one."""
    folder = folders.user_folder() / "prompts"
    files = await asyncio.to_thread(prompt_files.load, prompt_files.SHIPPED, folder)
    return files["format-to-bpy"].fill({"request": "What the script was meant to do before; mend it."})
