# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the script in an answer, and check it before anything runs it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from ...base import main_thread
from ...base.errors import BridgeError
from ...sandbox.facts.policy import policy
from ...sandbox.language.compile import ScriptRefused, compile_script
from ...sandbox.reference import rna
from ...sandbox.run import gates
from ...sandbox.run.validate import ValidationResult, validate
from .. import queue
from ..extract import extract
from ..request import Entry

__all__ = ("check", "compile_early", "script_of", "validation")


def script_of(entry: Entry, answer: str | Mapping[str, Any]) -> Entry:
    """Store the script of an answer; in the mode `contextual` the answer itself is the script. Raises NoScript."""
    if entry.request.mode == "contextual" and isinstance(answer, str):
        return queue().store_script(entry.id, answer)
    return queue().store_script(entry.id, extract(answer).script)


async def check(entry: Entry) -> Entry:
    """Validate the script of a request. Raises ScriptRefused with the errors and their lines."""
    found = await validation(entry.script, entry.request.level)
    if found is None:
        return queue().store_validation(entry.id, {})
    entry = queue().store_validation(entry.id, found.to_dict())
    if not found.is_valid:
        raise ScriptRefused(found.errors)
    return entry


async def compile_early(entry: Entry) -> None:
    """Compile the script of a request that is not validated, so that Blender's window does not wait for it.

    The run finds it compiled, or compiles it again and reports what is wrong.
    """
    with contextlib.suppress(BridgeError):
        if gates.check(entry.script, entry.request.level) != "arithmetic":
            await asyncio.to_thread(compile_script, entry.script)


async def validation(script: str, level: str | None = None) -> ValidationResult | None:
    """The validation of a script; None if the script is only arithmetic. Raises as `gates.check`."""
    chosen = gates.check(script, level)
    if chosen == "arithmetic":
        return None
    index = await asyncio.wrap_future(main_thread.run(rna.current, changes=False, label="validation"))
    return await asyncio.to_thread(validate, script, index, policy(chosen))
