# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments: what is there is left alone, what is lacking is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import environment
from blenders import DEFAULT, MATRIX


def test_only_what_is_not_at_its_version_is_missing() -> None:
    pins = [f"pytest=={pytest.__version__}", "pytest-timeout==0.1", "no-such-package-here==1.0"]
    assert environment.missing([sys.executable], pins) == ["pytest-timeout==0.1", "no-such-package-here==1.0"]


def test_failure_names_the_packages_and_what_pip_said(tmp_path: Path) -> None:
    pip_that_finds_nothing = ["--no-index", "--target", tmp_path]
    with pytest.raises(
        environment.SetupError, match=r"could not install no-such-package-here==1\.0:(?s:.)*ERROR"
    ):
        environment.pip(["no-such-package-here==1.0"], options=pip_that_finds_nothing)


@pytest.mark.parametrize("blender", [DEFAULT, *MATRIX], ids=lambda blender: blender.version)
def test_every_blender_has_exact_pins(blender) -> None:
    names = [pin.split("==")[0] for pin in blender.pins]
    assert {"bpy", "numpy", "pytest", "mcp"} <= set(names)
    assert len(names) == len(set(names))
    assert all(pin.count("==") == 1 for pin in blender.pins)
