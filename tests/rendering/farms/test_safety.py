# SPDX-License-Identifier: GPL-3.0-or-later
"""What workers are given and what they run, and that an engine's own commands may answer what they like."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle, openjd
from bl_ext.user_default.mcp_bridge.rendering.farms import slurm as slurm_engine
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen, Task
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

from support.clients.tool_calls import Tools
from support.services import farm, slurm

SECRETS = ("BLENDER_MCP_TOKEN", "BLENDER_MCP_SKETCHFAB_TOKEN", "BLENDER_MCP_FAL_KEY", "AWS_SECRET_ACCESS_KEY")
_TELLS = """
import json, os
with open(os.path.join({folder!r}, "environment.json"), "w") as file:
    json.dump(dict(os.environ), file)
"""


def job(folder: Path) -> FarmJob:
    return FarmJob(
        *("job", "alice", "Turn", "here", str(folder), "turn", (1,), 1, 1.0, "4.2"),
        *((sys.executable,), (), (), False, False, str(folder / "job")),
    )


def telling(folder: Path) -> FarmJob:
    """A job whose worker only tells its environment."""
    made = job(folder)
    (folder / "scene.blend").write_bytes(b"BLENDER")
    start = openjd.start(made)
    bundle.write(made, folder / "scene.blend", Path(made.bundle), sys.executable, start)
    (Path(made.bundle) / "worker.py").write_text(_TELLS.format(folder=str(made.results)))
    return made


def environment(made: FarmJob) -> dict[str, str]:
    told, end = made.results / "environment.json", time.monotonic() + 60
    while not told.exists() or not told.stat().st_size:
        assert time.monotonic() < end, [path.name for path in Path(made.bundle).rglob("*")]
        time.sleep(0.1)
    found: dict[str, str] = json.loads(told.read_text())
    return found


@pytest.mark.parametrize("engine", ["openjd", "slurm"])
def test_no_token_reaches_a_worker(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "a-very-secret-word")
    if engine == "openjd":
        made = telling(tmp_path)
        target = Target("here", "openjd", {"program": str(farm.openjd(tmp_path))})
        engine_id = openjd.submit(target, Task(made, "frames", [[1]], 1))
        found = environment(made)
        openjd.cancel(target, engine_id)
    else:
        if slurm.missing():
            pytest.skip(slurm.missing())
        with slurm.running() as running:
            made = telling(running.folder)
            blender = str(farm.blender(running.folder))
            options = {"folder": str(running.folder), "config": str(running.config), "blender": blender}
            slurm_engine.submit(Target("night", "slurm", options), Task(made, "frames", [[1]], 1))
            found = environment(made)
    assert "PATH" in found
    assert "a-very-secret-word" not in found.values()
    assert not set(SECRETS) & found.keys()


def test_scripts_in_the_file_are_named_and_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Callable[[], Tools]
) -> None:
    named = farm.set_up(tmp_path, monkeypatch, f'here = openjd program="{farm.openjd(tmp_path)}"')
    ran = tmp_path / "ran"
    text = bpy.data.texts.new("rig_ui.py")
    text.write(f"open({str(ran)!r}, 'w').close()\n")
    text.use_module = True
    driver = bpy.data.objects["Camera"].driver_add("location", 0).driver
    driver.expression = f"open({str(ran)!r}, 'w').close() or 0"
    ran.unlink(missing_ok=True)
    tools = connect()
    said, answer = farm.question(tools, path="turn.png", start=1, end=2, where="here")
    assert "Scripts in it do not run there." in said
    assert "Such scripts are: driver of Camera, text rig_ui.py." in said
    ended = farm.ended(tools, answer(farm.YES)["structuredContent"]["job_id"])
    assert (ended["state"], len(list(named.iterdir()))) == ("completed", 2), ended
    assert not ran.exists()


#: What a command of the engine's says in place of an answer.
_HOSTILE = {
    "huge": "while :; do echo 0123456789012345678901234567890123456789; done",
    "slow": "sleep 60",
    "nothing": "true",
    "binary": "head -c 1000 /dev/urandom",
    "words": "echo '<html>17</html>'",
    "a number that is none": "echo '17; touch pwned'; echo '--array=1'",
    "an error": "echo 'no such partition' >&2; exit 1",
}


@pytest.mark.parametrize("says", _HOSTILE)
def test_a_hostile_slurm_does_no_harm(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        (programs / name).write_text(f"#!/bin/sh\n{_HOSTILE[says]}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(slurm_engine, "_LONGEST_S", 1.0)
    made = replace(job(tmp_path), bundle=str(tmp_path))
    target = Target("night", "slurm", {"folder": str(tmp_path)})
    begun = time.monotonic()
    if says == "a number that is none":
        assert slurm_engine.submit(target, Task(made, "frames", [[1]], 1)) == "17"
    else:
        with pytest.raises(ExternalServiceError, match="sbatch"):
            slurm_engine.submit(target, Task(made, "frames", [[1]], 1))
    if says in ("huge", "slow", "an error"):
        with pytest.raises(ExternalServiceError, match="squeue"):
            slurm_engine.look(target, ["17"])
    else:
        [seen] = slurm_engine.look(target, ["17"]).values()
        assert isinstance(seen, Seen)
        assert len(seen.why) < 2000
    assert time.monotonic() - begun < 30
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("printed", [b"", b"\xff" * 100_000, b"\tError " * 100_000, b"Session ended"])
def test_what_openjd_prints_is_a_line_of_text(printed: bytes, tmp_path: Path) -> None:
    (tmp_path / "openjd.log").write_bytes(printed)
    seen = openjd.look(Target("here", "openjd", {}), [f"4194304 {tmp_path}"])[f"4194304 {tmp_path}"]
    assert not seen.working
    assert seen.why.startswith("openjd ended early: ")
    assert len(seen.why) < 600
