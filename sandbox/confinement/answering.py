# SPDX-License-Identifier: GPL-3.0-or-later
"""How a confined process answers: one JSON object a line, through a pipe that nothing else writes to.

Everything in a process prints to standard output and standard error: Blender's log, add-ons, libraries. So these two
carry no answers. The pipe for answers is a file that the command inherits; an environment variable has its number:

1. The supervisor sends the pipe's writing end to the launcher over their control socket (`hand_over`, `take`), since
   no engine passes files on to a container. On Windows, where there is no launcher, the command inherits a handle.
2. The launcher becomes the command, which calls `opened`.

Standard library only: half of this runs in the confined process.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping

__all__ = ("VARIABLE", "Say", "hand_over", "opened", "take")

#: The environment variable with the number of the inherited file; on Windows of the inherited handle.
VARIABLE = "MCP_BRIDGE_ANSWERS"

#: Writes one answer. Raises ValueError for a value that JSON cannot hold, OSError if nobody reads any more.
Say = Callable[[Mapping[str, object]], None]

_WORD = b"answers\n"


def hand_over(connection: socket.socket, pipe: int) -> None:
    """Send the pipe's writing end to the launcher at the other end of a Unix socket. Raises OSError."""
    socket.send_fds(connection, [_WORD], [pipe])


def take(connection: socket.socket) -> int:
    """Receive the pipe that `hand_over` sent, as a file that the command will inherit. Raises OSError if none came."""
    word, pipes, _, _ = socket.recv_fds(connection, len(_WORD), 1)
    if word != _WORD or len(pipes) != 1:
        raise OSError("the supervisor handed over no pipe for answers")
    os.set_inheritable(pipes[0], True)
    return pipes[0]


def opened() -> Say:
    """Open the pipe that this process inherited. Call it once, before all else: others must not find the variable.

    Raises KeyError if this process was started without a pipe.
    """
    number = int(os.environ.pop(VARIABLE))
    if sys.platform == "win32":
        import msvcrt

        number = msvcrt.open_osfhandle(number, os.O_WRONLY)
    os.set_inheritable(number, False)
    pipe = os.fdopen(number, "wb")

    def say(answer: Mapping[str, object]) -> None:
        pipe.write(json.dumps(answer, allow_nan=False).encode() + b"\n")
        pipe.flush()

    return say
