# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a real script in plain Blender and in the sandbox, each in a fork, and compares the scenes at the end.

The scripts are other people's and not in any checkout: the folder that MCP_BRIDGE_REAL_SCRIPTS names, or
`~/.cache/mcp-bridge/real_scripts`, has `scripts.tsv` (this reads its columns `id`, `blender` and `scope`) and a file
`<id>.py` for each.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import hashlib
import io
import os
import pickle
import random
import resource
import sys
import tempfile
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import bpy
from bl_ext.user_default.mcp_bridge.base.errors import (
    BridgeError,
    HandlerError,
    LimitExceeded,
    NeedsRehearsal,
)
from bl_ext.user_default.mcp_bridge.sandbox.guard.measured import Measured
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork
from support.scenes import digest

__all__ = ("FOLDER", "Compared", "Script", "compare", "scripts", "warm_up")

FOLDER: Final = Path(
    os.environ.get("MCP_BRIDGE_REAL_SCRIPTS")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcp-bridge" / "real_scripts"
)
_LIMIT_S: Final = 30.0
"""The default time limit of a rehearsed script. All times here are processor time: other programs run, too."""
_TIMEOUT_S: Final = 600.0
_SLOW_S: Final = 0.03
_LONG_S: Final = 1.0
"""Shorter scripts are timed `_TIMES` times, plain and in the sandbox: one run of 50 ms differs by half."""
_TIMES: Final = 3
_SEED: Final = 7
_MEMORY_BYTES: Final = 6 << 30
_UNREHEARSED: Final = "unrehearsed"
_PLAIN_RUNS: Final = 3
_MOST_PLAIN_RUNS: Final = (9, 60)
"""How many plain runs follow a difference, for a long script and for one below half a second.

In three runs, chance with two outcomes shows itself only three times of four; and one script ends in another scene in
one plain run of fifteen.
"""
_SEARCH_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Script:
    """One real script. `scope`: "inside", or "outside" where it does more than work on Blender's data."""

    id: str
    blender: str
    scope: str
    code: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The outcome of a script in the sandbox.

    `outcome`: same, DIFFERENT, refused before, refused, limit, own error, crash, or "no plain run" if plain Blender
    does not run it. `message` has the refusal, or where the scenes differ. `plain_s` and `sandbox_s` are seconds of
    processor time, from the text to the end.
    """

    id: str
    scope: str
    outcome: str
    message: str
    plain_s: float
    sandbox_s: float


@dataclass(frozen=True, slots=True)
class _Run:
    error: str
    message: str
    seconds: float
    digest: dict[str, str]
    growth: dict[str, float] = field(default_factory=dict)


def scripts() -> list[Script]:
    """Return the scripts in the folder, for all Blenders; none if there is no folder."""
    table = FOLDER / "scripts.tsv"
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = [(row, FOLDER / f"{row['id']}.py") for row in rows]
    return [
        Script(row["id"], row["blender"], row["scope"], path.read_text("utf-8"))
        for row, path in found
        if path.exists()
    ]


_FIRST: Final = """
import bpy, bmesh, math, mathutils, random
import numpy as np
bpy.ops.mesh.primitive_cube_add()
held = [bpy.context.object.modifiers, bpy.context.object.data.vertices]
bpy.ops.object.mode_set(mode="EDIT")
bpy.ops.object.mode_set(mode="OBJECT")
"""


def warm_up() -> None:
    """Run a first script, so that what a Blender does once does not count for the measured ones.

    A fork does so, too: it copies each page of memory when it first writes there.
    """
    _start()
    execute.execute_blender_code({"code": _FIRST})
    _start()


def _plain_runs(script: Script, count: int) -> list[_Run]:
    """Return plain runs, which are stored: nothing of ours changes their digests. Their times are of other days."""
    kept = FOLDER / "plain" / f"{script.id}-{bpy.app.version_string.split()[0]}.pickle"
    sources = [script.code.encode(), *(Path(each).read_bytes() for each in (digest.__file__, __file__))]
    key = _hash(b"".join(sources)).encode()
    found = kept.read_bytes() if kept.exists() else b""
    runs: list[_Run] = []
    if found.startswith(key):
        runs = pickle.loads(found.removeprefix(key))
    if len(runs) < count:
        runs += [_forked(_plain, script.code) for _ in range(count - len(runs))]
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(key + pickle.dumps(runs))
    return runs


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compare(script: Script) -> Compared:
    """Run `script` three times plain and once in the sandbox. Differences between the plain runs are chance.

    If the scene differs, run it plain more often before reporting that.
    """
    plain = _plain_runs(script, _PLAIN_RUNS)
    failed = next((run for run in plain if run.error), None)
    if failed is not None:
        return _compared(script, "no plain run", f"{failed.error}: {failed.message}", plain[0], failed)
    act: Callable[[str], _Run] = _sandbox
    run = _forked(act, script.code)
    if run.error == _UNREHEARSED:
        rehearsal = _forked(partial(_sandbox, growth=Measured(rehearses=True)), script.code)
        act = partial(_sandbox, growth=Measured(estimates=rehearsal.growth))
        run = rehearsal if rehearsal.error else _forked(act, script.code)
    if run.error:
        return _compared(script, run.error, run.message, plain[0], run)
    wrong = _different(plain, run)
    if wrong:
        least, most = _MOST_PLAIN_RUNS
        count = max(least, min(most, int(_SEARCH_S / max(plain[0].seconds, 0.001))))
        wrong = _different(_plain_runs(script, count), run)
    if wrong:
        return _compared(script, "DIFFERENT", f"{len(wrong)}: {', '.join(wrong[:6])}", plain[0], run)
    if plain[0].seconds < _SLOW_S:
        return _compared(script, "same", "", plain[0], run)
    long = plain[0].seconds >= _LONG_S
    plain_times = [_forked(_plain, script.code).seconds for _ in range(1 if long else _TIMES)]
    times = [run.seconds, *(_forked(act, script.code).seconds for _ in range(0 if long else _TIMES - 1))]
    return Compared(script.id, script.scope, "same", "", min(plain_times), min(times))


def _different(plain: list[_Run], run: _Run) -> list[str]:
    """Return the parts of the scene that differ from all plain runs, where those agree."""
    first, *others = (each.digest for each in plain)
    known = first.keys() | {key for other in others for key in other}
    chance = {key for key in known if any(other.get(key) != first.get(key) for other in others)}
    return sorted(
        key for key in first.keys() | run.digest.keys()
        if key not in chance and first.get(key) != run.digest.get(key)
        and not (key not in first and _renamed(key, chance))
    )  # fmt: skip


def _renamed(key: str, chance: set[str]) -> bool:
    """Return whether data-blocks of this kind get names by chance."""
    root = key.partition("/")[0] + "/"
    return any(each.startswith(root) for each in chance)


def _compared(script: Script, outcome: str, message: str, plain: _Run, run: _Run) -> Compared:
    return Compared(script.id, script.scope, outcome, message, plain.seconds, run.seconds)


def _forked(act: Callable[[str], _Run], code: str) -> _Run:
    try:
        with tempfile.TemporaryDirectory() as folder:
            return fork.run(_in_child, act, code, folder, timeout=_TIMEOUT_S)
    except fork.TimedOut:
        return _Run("limit", f"no end within {_TIMEOUT_S:g} s", _TIMEOUT_S, {})
    except fork.Died as died:
        return _Run("crash", str(died), 0.0, {})


def _in_child(act: Callable[[str], _Run], code: str, folder: str) -> _Run:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.chdir(folder)
    os.environ["HOME"] = folder
    warm_up()
    _shift_memory()
    _seed()
    return act(code)


def _shift_memory() -> None:
    """Move and fill Blender's memory at random in each run: what depends on it is chance.

    That is the order of addresses, and memory that Blender reads before it has written it.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    sizes = (24, 56, 120, 500, 3000, 20_000)
    chance = random.SystemRandom()
    chosen = [chance.choice(sizes) for _ in range(20_000)]
    blocks = [libc.malloc(size) for size in chosen]
    for block, size in zip(blocks[::2], chosen[::2], strict=True):
        ctypes.memset(block, chance.randrange(256), size)
        libc.free(ctypes.c_void_p(block))


def _seed() -> None:
    """Seed all unseeded random numbers alike, those of the sandbox's own generators too."""
    import numpy as np

    random.seed(_SEED)
    np.random.seed(_SEED)
    for module, kind in ((random, random.Random), (np.random, np.random.RandomState)):
        setattr(module, kind.__name__, type(kind.__name__, (kind,), {"__init__": _seeded_init(kind)}))


def _seeded_init(kind: type) -> Callable[..., None]:
    return lambda self, seed=None: kind.__init__(self, _SEED if seed is None else seed)  # type: ignore[misc]


def _start() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)


class _NoPictures:
    """A stand-in for `bpy.ops.render`: pictures are no part of the scene, and take minutes."""

    def render(self, *_context: object, **_parameters: object) -> set[str]:
        return {"FINISHED"}

    opengl = render


def _plain(code: str) -> _Run:
    """Run a script by `exec`. What it saves beside itself goes into the folder `written`, not into the checkout."""
    sys.argv = ["blender"]
    written = FOLDER / "written"
    written.mkdir(exist_ok=True)
    os.chdir(written)
    bpy.ops.render = _NoPictures()
    module = types.ModuleType("__main__")  # Blender looks annotations up in the module of a class
    sys.modules["__main__"] = module
    namespace = vars(module)
    namespace["__file__"] = os.path.abspath("script.py")
    try:
        began = time.process_time()
        compiled = compile(code, namespace["__file__"], "exec")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compiled, namespace)
    except SystemExit as left:
        if left.code not in (None, 0):
            return _Run("own error", f"SystemExit: {left.code}", time.process_time() - began, {})
    except BaseException as error:
        return _Run("own error", f"{type(error).__name__}: {error}"[:300], 0.0, {})
    taken = time.process_time() - began
    return _Run("", "", taken, digest.scene())


def _sandbox(code: str, growth: Measured | None = None) -> _Run:
    """Run a script as after the user's yes: if its estimates are above the limit, it was rehearsed with `growth`."""
    os.environ["BLENDER_MCP_TIME_LIMIT"] = f"{_TIMEOUT_S:g}"
    growth = growth or Measured()
    began = time.process_time()
    try:
        execute.run(code, request_id="real", requester="bench", rehearsed=True, growth=growth)
    except BridgeError as error:
        return _Run(_kind(error), f"{error}"[:300], time.process_time() - began, {})
    taken = time.process_time() - began
    if taken > _LIMIT_S:
        return _Run("limit", f"it took {taken:.0f} s of processor time", taken, {})
    return _Run("", "", taken, digest.scene(), growth.estimates)


def _kind(error: BridgeError) -> str:
    if isinstance(error, NeedsRehearsal):
        return _UNREHEARSED
    if isinstance(error, LimitExceeded):
        return "limit"
    if isinstance(error, HandlerError):
        return "own error"
    return "refused before" if type(error).__name__ == "ScriptRefused" else "refused"
