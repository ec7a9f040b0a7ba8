# SPDX-License-Identifier: GPL-3.0-or-later
"""Every error of the bridge is one of the five kinds that the specification names."""

from __future__ import annotations

import ast
from pathlib import Path

import bl_ext.user_default.mcp_bridge as bridge
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import (
    CANONICAL,
    BridgeError,
    HandlerError,
    LimitExceeded,
    PolicyError,
    failure_of,
)

from support.every_error import every_error

_ROOT = Path(bridge.__file__).parent


def test_the_five_kinds_are_those_of_the_specification() -> None:
    assert [kind.__name__ for kind in CANONICAL] == [
        "InvalidParamsError",
        "ExternalServiceError",
        "PolicyError",
        "LimitExceeded",
        "HandlerError",
    ]


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__qualname__)
def test_every_error_is_of_one_kind(error: BridgeError) -> None:
    [kind] = [kind for kind in CANONICAL if isinstance(error, kind)]
    told = failure_of(error)
    assert (told["status"], told["error"]) == ("error", kind.__name__)
    finer = error.original if isinstance(error, HandlerError) else error
    assert told.get("cause") == (None if type(finer) is kind else type(finer).__name__)
    assert told["message"]


def test_nobody_raises_an_error_of_no_kind() -> None:
    found = []
    for path in sorted(_ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name("BridgeError") | ast.Attribute(attr="BridgeError")):
                    found.append(f"{path.name}:{node.lineno}")
                case ast.ClassDef(bases=bases) if node.name not in {kind.__name__ for kind in CANONICAL}:
                    if any(isinstance(base, ast.Name) and base.id == "BridgeError" for base in bases):
                        found.append(f"{path.name}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("error", [KeyError("a"), OSError(2, "gone"), KeyboardInterrupt()])
def test_an_error_from_elsewhere_is_a_failure_of_the_work(error: BaseException) -> None:
    told = failure_of(error)
    assert (told["error"], told["cause"]) == ("HandlerError", type(error).__name__)
    assert told["message"]


def test_notes_and_facts_of_an_error_reach_the_client() -> None:
    error = LimitExceeded("too long", limit="time", line=4)
    error.add_note("The scene may not be as before.")
    assert failure_of(error) == {
        "status": "error",
        "error": "LimitExceeded",
        "message": "too long\nThe scene may not be as before.",
        "line": 4,
    }
    refused = PolicyError("no")
    refused.facts = {"errors": [{"line": 1}]}
    assert failure_of(refused)["errors"] == [{"line": 1}]
