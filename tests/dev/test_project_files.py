# SPDX-License-Identifier: GPL-3.0-or-later
"""What GitHub and pre-commit read is well formed, and runs what is there."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

import pytest
from ruamel.yaml import YAML

from blenders import ROOT


def _read(path: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / path).read_text("utf-8"))


def test_the_workflow_runs_what_a_change_has_to_pass() -> None:
    [job] = _read(".github/workflows/ci.yml")["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_each_hook_runs_what_the_makefile_runs() -> None:
    [local] = _read(".pre-commit-config.yaml")["repos"]
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("$(VENV)", ".venv/bin/python")
    for hook in local["hooks"]:
        python, *arguments = shlex.split(hook["entry"])
        known = [one for one in arguments if one not in ("--force-exclude", "--check")]
        assert " ".join([python, *known]) in makefile, hook["id"]


@pytest.mark.parametrize("form", ["bug.yml", "idea.yml"])
def test_a_form_asks_for_what_can_be_answered(form: str) -> None:
    body = _read(f".github/ISSUE_TEMPLATE/{form}")["body"]
    ids = [part["id"] for part in body if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 1
    assert all(re.fullmatch(r"[a-z]+", one) for one in ids)


def test_docstrings_have_no_half_characters() -> None:
    """Python 3.14 cannot compile a docstring with half a pair of UTF-16, as an escape without its backslash is."""
    halves = [
        f"{path}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        if not {".venv", "build", "dist"} & {*path.relative_to(ROOT).parts}
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and re.search("[\ud800-\udfff]", node.value.value)
    ]
    assert halves == []
