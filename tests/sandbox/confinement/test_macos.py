# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules for macOS's sandbox as text; what it makes of them only a Mac can tell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bl_ext.user_default.mcp_bridge.sandbox.confinement.macos.start import profile
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import Spec


def _spec(workdir: Path, **more: object) -> Spec:
    facts = {
        "timeout_sec": 1.0,
        "mem_limit_mb": 1,
        "disk_mb": 1,
        "cpu_sec": 1,
        "net_policy": "deny",
        "allowed_hosts": (),
        **more,
    }
    return Spec((sys.executable,), workdir, **facts)


def test_everything_is_denied_but_what_is_named(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    lines = profile(_spec(tmp_path / "work", readable=(library,)), None).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert {"(deny process-fork)", "(deny network*)"} <= set(lines)
    assert f'(allow file-read* file-write* (subpath "{os.path.realpath(tmp_path / "work")}"))' in lines
    [readable] = [line for line in lines if line.startswith("(allow file-read* (")]
    assert f'(subpath "{os.path.realpath(library)}")' in readable
    assert not any("network-outbound" in line for line in lines)


def test_a_proxy_opens_one_port_of_this_machine(tmp_path: Path) -> None:
    assert '(allow network-outbound (remote tcp "localhost:4321"))' in profile(_spec(tmp_path), 4321)


def test_a_path_cannot_end_its_quotes(tmp_path: Path) -> None:
    assert '\\")(allow network*)' in profile(_spec(tmp_path / 'a")(allow network*)'), None)
