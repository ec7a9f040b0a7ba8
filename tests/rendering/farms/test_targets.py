# SPDX-License-Identifier: GPL-3.0-or-later
"""The text that names render targets, as a person writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.rendering.farms import adapters, targets


def test_several_targets_with_their_options() -> None:
    text = 'this computer = openjd; night shift = slurm folder="/mnt/the farm" blender=/opt/b/blender partition=gpu'
    found = targets.parse(text)
    assert [(one.name, one.engine) for one in found.values()] == [
        ("this computer", "openjd"),
        ("night shift", "slurm"),
    ]
    night = found["night shift"]
    assert (night.folder, night.blender) == (Path("/mnt/the farm"), "/opt/b/blender")
    assert dict(night.options)["partition"] == "gpu"
    assert targets.parse("") == {}
    assert targets.parse(r"here = openjd program='C:\tools\openjd.exe'")["here"].options["program"] == (
        r"C:\tools\openjd.exe"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openjd", "write NAME = ENGINE option=value, with spaces around the first sign, not 'openjd'"),
        ("a = ", "write NAME = ENGINE"),
        ("a=openjd", "write NAME = ENGINE"),
        ("$(x) = openjd", "name a target with letters, digits and spaces, not '\\$\\(x\\)'"),
        ("a = pbs", "use one of the engines openjd, "),
        ("a = openjd; a = openjd", "'a' is used twice"),
        ("a = slurm", "'a' needs folder=…"),
        ("a = slurm folder=farm", "give folder an absolute path, not 'farm'"),
        ("a = slurm folder=/farm shell=/bin/sh", "slurm has the options folder=…, blender=…"),
        ("a = slurm folder=/farm partition=--uid=0", "partition is a plain name, not '--uid=0'"),
        ("a = openjd program='x", "close each quote"),
        ("a = openjd program=", "give program a value"),
    ],
)
def test_a_wrong_target_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        targets.parse(text)


def test_each_engine_has_its_adapter() -> None:
    assert adapters.ADAPTERS.keys() == targets.ENGINES.keys()
    for name, adapter in adapters.ADAPTERS.items():
        for part in ("VIDEO", "FILES", "WORKERS", "start", "blender", "submit", "look", "cancel"):
            assert hasattr(adapter, part), (name, part)
