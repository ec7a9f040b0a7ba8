# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests `make check` runs for what changed."""

from __future__ import annotations

import shutil

import pytest

from blenders import ROOT
from checks import check


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("base/errors.py", ["tests/base/test_errors.py"]),
        ("server/clients/discovery.py", ["tests/server/clients/test_discovery.py"]),
        ("dev/checks/check.py", ["tests/dev/checks/test_check.py"]),
        ("tests/base/test_jobs.py", ["tests/base/test_jobs.py"]),
        ("tests/support/running/fork.py", []),
        ("tests/window/test_panel.py", []),
        ("docs/architecture.md", []),
        ("base/there_is_no_such_module.py", []),
    ],
)
def test_a_change_leads_to_the_tests_that_mirror_it(changed: str, tests: list[str]) -> None:
    assert check.tests_of([changed], lambda name: (ROOT / name).exists()) == tests


def test_the_tests_that_always_run_exist() -> None:
    assert [name for name in check._ALWAYS if not (ROOT / name).exists()] == []


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="there is no git, or this is no clone"
)
def test_what_git_does_not_know_yet_has_changed_too() -> None:
    new = ROOT / "base" / "new_module_of_a_test.py"
    new.touch()
    try:
        assert "base/new_module_of_a_test.py" in check.changed("HEAD")
    finally:
        new.unlink()
