# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a process in a container of podman or docker.

The image is empty: the container sees this system's programs and libraries, read-only, as every other confined process
does, so no image with Blender in it is needed. Inside, the launcher confines once more.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .. import means
from ..process import Spec
from .launcher import short_path
from .start import launcher_command, orders_for, readable

__all__ = ("Container",)

_IMAGE = "localhost/mcp-bridge-empty:1"
#: An empty tar archive: two blocks of zeros, padded as tar does.
_EMPTY_TAR = bytes(10240)
_NOBODY = "65534:65534"
_CONNECT_S = 20.0
_MOST_PROCESSES = 4096


@dataclass(frozen=True, slots=True)
class Container:
    """One container engine."""

    engine: str
    wraps = True
    needs_namespaces = False

    @property
    def name(self) -> str:
        """The means that confine the process, in words."""
        return f"a {Path(self.engine).name} container, Landlock and seccomp"

    @classmethod
    def installed(cls) -> list[Container]:
        """Return one for each engine that this machine has."""
        return [cls(found) for engine in ("podman", "docker") if (found := shutil.which(engine))]

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a process in a container. Raises OSError."""
        self._have_image()
        label = f"mcp-run-{secrets.token_hex(8)}"
        if os.geteuid() == 0:
            os.chown(spec.workdir, *map(int, _NOBODY.split(":")))
        control, listener = _listen(place.control / label)
        orders = orders_for(spec, place, root=None, parent=None, drop=False)
        inside = launcher_command(orders, str(control))
        argv = [self.engine, *self._runtime(), "run", *self._options(spec, label)]
        for path in (*readable(spec), str(place.control)):
            argv += ["--volume", f"{path}:{path}:ro"]
        argv += ["--volume", f"{spec.workdir}:{spec.workdir}:rw", _IMAGE, *inside]
        try:
            # The engine's own program is trusted, and finds its settings and sockets by the environment. Its
            # monitor leaves a file `oom` in its current folder.
            started = means.popen(argv, spec, env=dict(os.environ), cwd=place.control)
        except OSError:
            listener.close()
            raise
        return means.Started(
            started, lambda: _accept(listener, control), kill_rest=lambda: self._remove(label)
        )

    def _have_image(self) -> None:
        if self._run("image", "inspect", _IMAGE).returncode != 0:
            made = self._run("import", "-", _IMAGE, stdin=_EMPTY_TAR)
            if made.returncode != 0:
                raise OSError(
                    f"{self.engine} cannot make an empty image: {made.stderr.decode().strip()[-300:]}"
                )

    def _runtime(self) -> list[str]:
        """Return the option that names runc: Podman looks for crun first, and does not look further."""
        if Path(self.engine).name == "podman" and not shutil.which("crun") and shutil.which("runc"):
            return ["--runtime", "runc"]
        return []

    def _options(self, spec: Spec, label: str) -> list[str]:
        podman = Path(self.engine).name == "podman"
        options = [
            *("--rm", "--interactive", "--name", label, "--label", f"mcp-run={os.getpid()}"),
            *("--network", "none", "--read-only", "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--log-driver", "none"),
            *("--pids-limit", "512", "--memory", f"{spec.mem_limit_mb}m", "--cpus", str(os.cpu_count() or 1)),
            # Limits of its own: engines ask for higher ones than they may set when they are confined themselves.
            *("--ulimit", "nofile=1024:1024", "--ulimit", "nproc={}:{}".format(*_processes())),
        ]
        if os.geteuid() == 0:
            options += ["--user", _NOBODY]
        elif podman:
            options += ["--userns", "keep-id"]
        else:
            options += ["--user", f"{os.getuid()}:{os.getgid()}"]
        return options

    def _run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self.engine, *arguments], input=stdin, capture_output=True, timeout=60)

    def _remove(self, label: str) -> None:
        self._run("rm", "--force", "--time", "0", label) if Path(self.engine).name == "podman" else self._run(
            "rm", "--force", label
        )


def _processes() -> list[int]:
    limits = resource.getrlimit(resource.RLIMIT_NPROC)
    return [
        _MOST_PROCESSES if limit == resource.RLIM_INFINITY else min(limit, _MOST_PROCESSES)
        for limit in limits
    ]


def _listen(path: Path) -> tuple[Path, socket.socket]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(path) as name:
        listener.bind(name)
    path.chmod(0o777)
    listener.listen(1)
    return path, listener


def _accept(listener: socket.socket, path: Path) -> socket.socket:
    """Return the launcher's end once it has connected. Raises OSError if it does not connect."""
    with listener:
        listener.settimeout(_CONNECT_S)
        try:
            connection, _ = listener.accept()
        finally:
            path.unlink(missing_ok=True)
    connection.settimeout(None)
    return connection
