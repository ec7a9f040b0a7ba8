# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a process in macOS's sandbox, with a profile that denies by default.

Source: sandbox-exec(1) and the profiles in /System/Library/Sandbox/Profiles. Memory is polled, as macOS enforces no
limit on it; a process notices its parent's death by the end of its input.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import means
from ..process import Spec
from ..proxy import EgressProxy

__all__ = ("Seatbelt", "profile")

_SANDBOX_EXEC = "/usr/bin/sandbox-exec"
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Fonts",
    "/private/etc/ssl",
    "/private/var/db/timezone",
)

_PROFILE = """(version 1)
(deny default)
(import "system.sb")
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* {readable})
(allow file-read* file-write* (subpath {workdir}))
(allow file-write* (literal "/dev/null"))
(allow file-map-executable {readable})
(allow process-exec* {programs})
(allow signal (target self))
(deny process-fork)
(deny network*)
{proxy}
"""


def profile(spec: Spec, proxy_port: int | None) -> str:
    """Return the rules for one process, in the sandbox's own language."""
    command = shutil.which(spec.cmd[0]) or spec.cmd[0]
    own = [*_SYSTEM, *means.program_files(), command, *map(str, spec.readable)]
    # Rules see real paths: on macOS /tmp is /private/tmp.
    readable = sorted({os.path.realpath(path) for path in own if os.path.exists(path)})
    programs = sorted({os.path.realpath(path) for path in (sys.executable, command)})
    rule = f'(allow network-outbound (remote tcp "localhost:{proxy_port}"))' if proxy_port else ""
    return _PROFILE.format(
        readable=" ".join(f"(subpath {_quoted(path)})" for path in readable),
        workdir=_quoted(os.path.realpath(spec.workdir)),
        programs=" ".join(f"(literal {_quoted(path)})" for path in programs),
        proxy=rule,
    )


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Seatbelt:
    """`sandbox-exec` with a profile of its own for each process."""

    name = "macOS's sandbox"
    wraps = False
    needs_namespaces = False

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a process confined by `sandbox-exec`. Raises OSError."""
        env = means.environment(spec)
        proxy = None
        if spec.net_policy == "allow-list":
            listener = socket.create_server(("127.0.0.1", 0))
            proxy = EgressProxy(listener, spec.allowed_hosts, place.refused)
            proxy.start()
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            env |= {"http_proxy": address, "https_proxy": address}
        orders = {
            "argv": [os.path.realpath(shutil.which(spec.cmd[0]) or spec.cmd[0]), *spec.cmd[1:]],
            "env": env,
            "workdir": str(spec.workdir),
            "answers": spec.answers,
            "file_mb": spec.disk_mb,
            "cpu_s": spec.cpu_sec,
            "canary": place.canary,
        }
        ours, theirs = socket.socketpair()
        with theirs:
            rules = profile(spec, None if proxy is None else proxy.listener.getsockname()[1])
            python = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", means.BOOT]
            launcher = [str(Path(__file__).parent.parent), "supervisor.macos.launcher"]
            argv = [_SANDBOX_EXEC, "-p", rules, *python, *launcher, str(theirs.fileno()), json.dumps(orders)]
            started = means.popen(argv, spec, pass_fds=[theirs.fileno()])
        return means.Started(started, lambda: ours, kill_rest=proxy.close if proxy else lambda: None)
