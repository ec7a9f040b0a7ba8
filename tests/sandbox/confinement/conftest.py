# SPDX-License-Identifier: GPL-3.0-or-later
"""Supervisors of the tests' own, with a journal in memory."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement.config import Config
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import ProcessHandle, ProcessStatus, Spec
from bl_ext.user_default.mcp_bridge.sandbox.confinement.supervisor import Supervisor


@dataclass
class Bench:
    """A supervisor, what it wrote to its journal, and short ways to start Python in it."""

    supervisor: Supervisor
    base: Path
    records: list[dict[str, Any]] = field(default_factory=list)

    def spec(self, code: str, **changes: Any) -> Spec:
        plain = Spec(
            (sys.executable, "-I", "-S", "-c", textwrap.dedent(code)),
            self.supervisor.new_folder(),
            timeout_sec=20.0,
            mem_limit_mb=256,
            disk_mb=64,
            cpu_sec=20,
            net_policy="deny",
            allowed_hosts=(),
        )
        return replace(plain, **changes)

    def start(self, code: str, **changes: Any) -> ProcessHandle:
        return self.supervisor.start(self.spec(code, **changes))

    def run(self, code: str, **changes: Any) -> tuple[ProcessStatus, str]:
        """Start Python, wait for it, and return how it ended and what it printed."""
        handle = self.start(code, **changes)
        return self.supervisor.wait(handle, 30.0), self.supervisor.chatter(handle)

    @contextmanager
    def waiting(self) -> Iterator[int]:
        """The id of a confined process that waits."""
        handle = self.start("import time; print('ready', flush=True); time.sleep(60)")
        assert self.wait_for(lambda: "ready" in self.supervisor.chatter(handle))
        yield self.supervisor.status(handle).pid
        self.supervisor.kill(handle)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["event"] == name]

    def wait_for(self, condition: Callable[[], bool], seconds: float = 30.0) -> bool:
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(config: Config | None = None, **sandbox: Any) -> Bench:
        tmp_path.chmod(0o711)  # root's processes become nobody, who has to get to the folders
        plain = config or Config()
        changes = {"workdir_base": tmp_path / f"runs{len(made)}", **sandbox}
        config = replace(plain, sandbox=replace(plain.sandbox, **changes))
        records: list[dict[str, Any]] = []
        supervisor = Supervisor(config, lambda event, **fields: records.append({"event": event, **fields}))
        made.append(Bench(supervisor, config.sandbox.workdir_base, records))
        return made[-1]

    yield make
    for bench in made:
        bench.supervisor.close()
    for bench in made:
        assert not bench.base.exists() or not list(bench.base.iterdir()), "a folder was left behind"


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
