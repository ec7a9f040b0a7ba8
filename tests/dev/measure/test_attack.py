# SPDX-License-Identifier: GPL-3.0-or-later
"""`make attack`: the tables are whole, the oracles see harm where a wall is missing, and what is found is written."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script

from support.attack import combine, oracles, search
from support.attack.oracles import CRASH, HARM, OUTCOMES, WALL, Judge
from support.attack.tables import ANSWERS, ASKS


@pytest.fixture(autouse=True)
def _warm() -> Iterator[None]:
    search.warm_up()
    yield
    settings.set_preferences({})


def test_each_row_appears_in_the_first_scripts_and_each_script_is_python() -> None:
    seen: dict[str, set[str]] = {table: set() for table in combine.TABLES}
    for number in range(combine.needed()):
        script = combine.make(1, number)
        ast.parse(script.code.replace("@PORT@", "1"))
        for table, rows in script.rows.items():
            seen[table].update(rows)
    assert seen == {table: set(rows) for table, rows in combine.TABLES.items()}


def test_tables_are_as_large_as_the_search_needs() -> None:
    assert [len(combine.TABLES[name]) for name in ("way", "place", "ask", "effect")] >= [50, 20, 60, 15]
    assert all(len(rows) == len(set(rows)) for rows in combine.TABLES.values())


def test_each_special_name_that_is_asked_for_has_an_answer() -> None:
    assert {name for ask in ASKS.values() for name in ask.names.split()} <= ANSWERS.keys()


def test_same_seed_and_number_make_the_same_script() -> None:
    for number in (600, 601):
        assert combine.make(1, number) == combine.make(1, number)
        assert combine.make(1, number).code != combine.make(2, number).code


def test_the_grammar_keeps_to_the_language() -> None:
    for number in range(901, 941, 2):
        assert compile_script(combine.make(1, number).code).code, "a script that compiles is not refused"


@pytest.mark.parametrize(
    ("code", "outcome", "seen"),
    [
        ("open('@CANARY@', 'w').write('x')", HARM, "the file work/pwned was made"),
        ("import os; os.remove('@VICTIM@')", HARM, "the file work/victim.txt vanished"),
        ("result = open('@SECRET@').read()", HARM, "the secret was read: result"),
        ("import os; os.system('true')", HARM, "audit event os.system"),
        ("import os", HARM, "the script holds os: <module"),
        ("import socket; socket.create_connection(('127.0.0.1', @PORT@)).recv(1)", HARM, "the network was reached"),
        ("import bpy; bpy.app.handlers.load_post.append(print)", HARM, "bpy.app.handlers changed"),
        ("import colorsys; colorsys.rgb_to_hsv.__defaults__ = (1,)", HARM, "colorsys.rgb_to_hsv changed"),
        ("import bpy; bpy.data.texts.new('a').use_module = True", HARM, "texts that run changed"),
        ("raise SystemExit", HARM, "SystemExit reached the host"),
        ("import os; os._exit(3)", HARM, "left the process with status"),
        ("x = bytearray(1_900_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1", HARM, "used "),
        ("import ctypes; ctypes.string_at(16)", CRASH, "SIGSEGV"),
    ],
)  # fmt: skip
def test_harm_is_seen_without_a_wall(code: str, outcome: str, seen: str) -> None:
    with Judge(oracles.plain) as judge:
        verdict = judge.verdict(code)
    assert (verdict.outcome, seen in verdict.seen) == (outcome, True), verdict


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import bpy\nbpy.context.object.location.x = 2", "accepted"),
        ("1 / 0", "own error"),
        ("().__class__.__subclasses__()", "refused before"),
        ("import bpy\nbpy.ops.wm.quit_blender()", "refused within"),
        ("while True: pass", "limit"),
    ],
)
def test_what_the_product_said_is_told_apart(code: str, outcome: str) -> None:
    with Judge() as judge:
        assert judge.verdict(code).outcome == outcome


def test_short_search_says_counts_by_cell(tmp_path: Path) -> None:
    with Judge() as judge:
        report = search.run(judge, seed=1, numbers=range(30), goes_on=lambda: True, out=tmp_path)
    text = report.text()
    assert not report.has_harm, text
    assert not report.counts[WALL], text
    assert "30 scripts" in text
    heads = [line.split()[0] for line in text.splitlines() if line.endswith(CRASH)]
    assert heads == list(combine.TABLES)
    assert all(each in text.splitlines()[1] for each in OUTCOMES)
    counted = json.loads((tmp_path / "counts.json").read_text("utf-8"))["cells"]["way"]
    assert sum(sum(cell.values()) for cell in counted.values()) == 15


def test_search_without_walls_finds_harm_and_keeps_the_script(tmp_path: Path) -> None:
    """A broken wall is found by the same scripts."""
    with Judge(oracles.plain) as judge:
        report = search.run(judge, seed=1, numbers=range(0, 12, 2), goes_on=lambda: True, out=tmp_path)
    assert report.has_harm
    [first, *_] = sorted(tmp_path.glob("harm-*.py"))
    assert "# HARM on Blender " in first.read_text("utf-8")
    assert first.name in report.text()
