# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the sandbox of `sandbox-exec`: sets limits, tries the canaries, and becomes the command."""

from __future__ import annotations

import json
import os
import resource
import socket

from .. import answering, probe

__all__ = ("main",)

_NOT_CONFINED, _NOT_STARTED = 126, 127
_MB = 1024 * 1024
#: The nice value of confined processes: the open Blender gets the processor first.
_NICE = 10


def main(control: str, orders_json: str) -> None:
    """Carry out the orders of `start.py`. `control`: the number of an inherited Unix socket."""
    orders = json.loads(orders_json)
    parent = socket.socket(fileno=int(control))
    parent.set_inheritable(False)
    try:
        if orders["answers"]:
            orders["env"][answering.VARIABLE] = str(answering.take(parent))
        os.umask(0o077)
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
        for what, limit in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, orders["cpu_s"]),
            (resource.RLIMIT_FSIZE, orders["file_mb"] * _MB),
        ):
            resource.setrlimit(what, (limit, limit))
        found = probe.in_force(orders["canary"])
        parent.sendall(json.dumps({"in_force": found}).encode() + b"\n")
        if set(found) != set(probe.EVERYTHING):
            os._exit(_NOT_CONFINED)
        os.chdir(orders["workdir"])
        os.execve(orders["argv"][0], orders["argv"], orders["env"])  # noqa: S606 - there is no shell, by intent
    except OSError as error:
        parent.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        os._exit(_NOT_STARTED)
