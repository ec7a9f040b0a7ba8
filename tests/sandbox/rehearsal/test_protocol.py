# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers as input that nobody trusts."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement.probe import EVERYTHING
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.protocol import (
    Garbled,
    check_answer,
    check_ready,
    check_zygote,
    png,
)

GOOD: dict[str, Any] = {
    "outcome": "success",
    "result": None,
    "stdout": "",
    "warnings": [],
    "seconds": {"open": 0.1, "script": 0.1, "total": 0.3},
    "peak_memory_mb": 100.0,
    "difference": {"added": [], "removed": [], "changed": [], "totals": {}, "left_out": {}},
    "pictures": {},
    "in_force": list(EVERYTHING),
}


def _line(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def test_a_good_answer_is_taken() -> None:
    assert check_answer(_line()) == GOOD


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "rejected"},
        {"stdout": 5},
        {"stdout": "x" * 1_200_000},
        {"warnings": ["x"] * 201},
        {"warnings": ["x" * 2001]},
        {"seconds": {"open": -1, "script": 0, "total": 0}},
        {"peak_memory_mb": "much"},
        {"extra": 1},
        {
            "difference": {
                "added": [{"kind": "Object"}],
                "removed": [],
                "changed": [],
                "totals": {},
                "left_out": {},
            }
        },
        {"pictures": {"before": {"width": 10_000, "height": 1, "rgb": ""}}},
        {"pictures": {"meanwhile": {"width": 1, "height": 1, "rgb": "AAAA"}}},
        {"error": "boom"},
        {"growth": {"object Cube": 5.0}},
        {"growth": {"object Cube": {"estimate": 1e30}}},
        {"growth": {str(number): {"estimate": 1.0} for number in range(501)}},
        {"peak_memory_mb": 10**4000},
        {"seconds": {"open": 10**400, "script": 0, "total": 0}},
        {"error": {"type": "a", "cause": None, "message": "b", "line": 10**400}},
    ],
)
def test_a_bad_answer_is_not(changes: dict[str, Any]) -> None:
    with pytest.raises(Garbled, match="the child's answer cannot be understood"):
        check_answer(_line(**changes))


def test_numbers_that_json_does_not_have_are_refused() -> None:
    for number in (b"1e999", b"-1e999", b"NaN", b"Infinity"):
        with pytest.raises(Garbled, match=r"is too large|is no JSON"):
            check_answer(_line(result=0.5).replace(b"0.5", number))


def test_a_result_may_be_nested_but_not_without_end() -> None:
    deep: Any = 1
    for _ in range(30):
        deep = [deep]
    assert check_answer(_line(result=deep))["result"] == deep
    with pytest.raises(Garbled, match="nested too deep"):
        check_answer(_line().replace(b'"result": null', b'"result": ' + b"[" * 500 + b"]" * 500))


def test_an_answer_that_is_too_long_is_not_even_parsed() -> None:
    with pytest.raises(Garbled, match="it has 17,000,000 bytes"):
        check_answer(b"[" * 17_000_000)


def test_halves_of_letters_become_a_question_mark() -> None:
    """They are a file name that cannot be written and a label that cannot be drawn."""
    assert check_answer(_line(stdout="a\ud800b \U0001f600", result={"\udfff": 1})) == {
        **GOOD,
        "stdout": "a?b \U0001f600",
        "result": {"?": 1},
    }


def test_what_is_missing_is_noticed() -> None:
    for name in GOOD:
        with pytest.raises(Garbled):
            check_answer(json.dumps({key: value for key, value in GOOD.items() if key != name}).encode())


def test_a_confinement_that_did_not_hold_is_no_answer() -> None:
    with pytest.raises(Garbled, match="the confinement did not hold: read, write"):
        check_answer(_line(in_force=["read", "write"]))


@pytest.mark.parametrize("line", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b'{"ready": NaN}'])
def test_what_is_no_json_object_is_refused(line: bytes) -> None:
    with pytest.raises(Garbled):
        check_ready(line)


def test_pixels_become_a_png() -> None:
    rgb = bytes([255, 0, 0, 0, 255, 0])
    made = png({"width": 1, "height": 2, "rgb": base64.b64encode(rgb).decode()})
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    data = made[made.index(b"IDAT") + 4 : made.index(b"IEND") - 8]
    assert zlib.decompress(data) == b"\0\xff\0\0\0\0\xff\0"


@pytest.mark.parametrize(("rgb", "says"), [("AAAA", "has 3 bytes"), ("?", "is not base64")])
def test_pixels_that_do_not_fit_are_refused(rgb: str, says: str) -> None:
    with pytest.raises(Garbled, match=says):
        png({"width": 2, "height": 2, "rgb": rgb})


def test_a_zygote_says_whether_it_can_be_copied() -> None:
    assert check_zygote(b'{"ready": true}') == ""
    assert check_zygote(b'{"ready": false, "why": "it has 5 threads"}') == "it has 5 threads"
    with pytest.raises(Garbled, match="the child's zygote cannot be understood"):
        check_zygote(b'{"ready": "perhaps"}')
