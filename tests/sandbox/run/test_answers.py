# SPDX-License-Identifier: GPL-3.0-or-later
"""The specification's measures over answers as assistants give them (`cases/answers.md`).

What should fail was labelled before anything was run: `no script`, `not valid` (refused by validation), `fails` (in
the rehearsal). Everything else is `runs`.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.approvals.extract import NoScript, extract
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.sandbox.run.validate import validate

from support.running import fork

_HEAD = re.compile(r"^=== (?P<kind>[a-z ]+) \d+ · (?P<label>[a-z ]+)\n", re.MULTILINE)
_TEXT = (Path(__file__).parent.parent / "cases" / "answers.md").read_text(encoding="utf-8")


def _answers() -> list[tuple[str, str, str]]:
    """Kind, label and text of each answer."""
    heads = list(_HEAD.finditer(_TEXT))
    ends = [head.start() for head in heads[1:]] + [len(_TEXT)]
    return [
        (head["kind"], head["label"], _TEXT[head.end() : end].removesuffix("\n"))
        for head, end in zip(heads, ends, strict=True)
    ]


ANSWERS = _answers()


def _became(answer: str) -> str:
    """How far an answer gets: its rehearsal and its live run each begin in the factory scene."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    found = json.loads(answer) if answer.startswith('{"filename"') else answer
    try:
        script = extract(found).script
    except NoScript:
        return "no script"
    valid = validate(script, rna.current(), policy("blender"))
    if not valid.is_valid:
        return f"not valid: {valid.errors[0]}"
    try:
        execute.run(script, request_id="rehearsal", requester="a test")
    except BridgeError as error:
        return f"fails: {error}"
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    try:
        execute.run(script, request_id="live", requester="a test")
    except BridgeError as error:
        return f"does not apply: {error}"
    return "runs"


@functools.cache
def _outcomes(folder: Path) -> list[tuple[str, str, str, str]]:
    """Kind, label, what became of it, and the answer; in a fork, as long as none crashes it."""
    rna.current()
    fresh = journal._current
    journal._current = journal.Journal(folder)
    try:
        became = fork.run_each(_became, [text for *_, text in ANSWERS])
    finally:
        journal._current = fresh
    return [
        (kind, label, _known(end), text) for (kind, label, text), end in zip(ANSWERS, became, strict=True)
    ]


def _known(end: str | Exception) -> str:
    if isinstance(end, Exception):
        raise end
    return end


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str, str]]:
    execute._rate.clear()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return _outcomes(tmp_path_factory.mktemp("audit"))


def test_the_answers_are_many_and_various() -> None:
    assert len(ANSWERS) >= 100
    assert len({kind for kind, label, _ in ANSWERS if label == "runs"}) >= 12
    assert len({text for _, _, text in ANSWERS}) == len(ANSWERS)
    assert set(Counter(label for _, label, _ in ANSWERS)) == {"runs", "no script", "not valid", "fails"}


def test_at_least_95_percent_are_extracted_and_valid(outcomes: list[tuple[str, str, str, str]]) -> None:
    meant = [became for _, label, became, _ in outcomes if label == "runs"]
    lost = [became for became in meant if became.startswith(("no script", "not valid"))]
    assert len(lost) <= 0.05 * len(meant), lost


def test_at_least_98_percent_of_what_was_rehearsed_applies(outcomes: list[tuple[str, str, str, str]]) -> None:
    rehearsed = [became for *_, became, _ in outcomes if became.startswith(("runs", "does not apply"))]
    lost = [became for became in rehearsed if became != "runs"]
    assert len(lost) <= 0.02 * len(rehearsed), lost


def test_hardly_any_answer_that_should_run_fails_in_the_rehearsal(
    outcomes: list[tuple[str, str, str, str]],
) -> None:
    meant = [(became, text) for _, label, became, text in outcomes if label == "runs"]
    lost = [(became, text) for became, text in meant if became.startswith("fails")]
    assert len(lost) <= 0.02 * len(meant), lost


def test_what_was_labelled_to_fail_fails_where_it_was_said_to(
    outcomes: list[tuple[str, str, str, str]],
) -> None:
    wrong = [
        (label, became, text)
        for _, label, became, text in outcomes
        if label != "runs" and not became.startswith(label)
    ]
    assert not wrong
