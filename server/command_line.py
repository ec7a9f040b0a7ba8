# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the server in a Blender without a window: `blender -b [FILE] -c mcp_bridge [--host H] [--port P]`.

`--help` lists the exit codes, on which scripts rely.

The server's modules are imported only when it starts.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    import argparse

    from .assembly import Bridge

__all__ = ("greeting", "run")

STOPPED, NOT_STARTED, WRONG_ARGUMENTS, ENDED, NOT_WHOLE = range(5)
EXIT_CODES = {
    STOPPED: "stopped by Ctrl-C or SIGTERM, or the journal is whole",
    NOT_STARTED: "the server could not start",
    WRONG_ARGUMENTS: "wrong arguments",
    ENDED: "the server ended by itself",
    NOT_WHOLE: "the journal is incomplete or altered",
}

#: The client whose configuration the greeting shows first: most other clients accept the same form.
_EXAMPLE = "cursor"


def run(arguments: list[str]) -> int:
    """Run the server until a signal comes, and return the exit code. Call on the main thread, without a window."""
    from ..base import main_thread, settings
    from ..base.errors import BridgeError
    from . import bridge

    try:
        options = _parser().parse_args(arguments)
    except SystemExit as done:  # argparse has already printed the help or the error
        return WRONG_ARGUMENTS if done.code else STOPPED
    if vars(options).pop("verify_journal"):
        return _verify_journal()
    settings.set_arguments({name: value for name, value in vars(options).items() if value is not None})
    with _signals() as stopped:
        try:
            running = bridge.start()
        except BridgeError as error:
            print(f"MCP Bridge cannot start: {error}", file=sys.stderr, flush=True)
            return NOT_STARTED
        print(greeting(running), flush=True)
        try:
            main_thread.pump(lambda: not stopped() and running.listener.alive)
            failure = bridge.status().error
        finally:
            bridge.stop()
    if failure:
        print(f"MCP Bridge: {failure}", file=sys.stderr, flush=True)
        return ENDED
    print("MCP Bridge has stopped.", flush=True)
    return STOPPED


def greeting(running: Bridge) -> str:
    """Return the text for the person who starts a server: its address, a token, and a configuration for each client."""
    from . import bridge
    from .clients import discovery
    from .clients.config import snippets, table

    token = running.settings.token or running.token
    if running.pairings is not None and not running.settings.token:
        _, token = bridge.token_store().mint(
            "Command line"
        )  # this run's own token may only let a program ask for access
    here = snippets.Here(
        python=sys.executable,
        shim=str(Path(__file__).parent / "clients" / "stdio_shim.py"),
        host=discovery.reachable_host(running.host),
        port=running.port,
        blender=bpy.app.version_string,
    )
    clients: dict[str, list[str]] = {}
    for kind in sorted(table.CLIENTS, key=lambda kind: kind.id != _EXAMPLE):
        form = "http" if "http" in kind.forms else kind.forms[0]
        text = snippets.snippet(kind, form, here, token)
        clients.setdefault(text, []).append(f"{kind.label} ({table.place(kind, sys.platform, os.environ)})")
    (first, same), *others = clients.items()
    rest = "\n".join(f"  {', '.join(names)}:\n\n{indent(text, '    ')}" for text, names in others)
    return (
        f"MCP Bridge serves Blender {bpy.app.version_string} until Ctrl-C.\n\n"
        f"  Streamable HTTP  {running.url}\n"
        f"  WebSocket        {running.websocket_url}\n"
        f"  Token            {token}\n\n"
        f"A client's configuration, for {', '.join(same)}:\n\n{first}\nOther clients:\n\n{rest}"
    )


def _verify_journal() -> int:
    """Print the problems of the journal, and return the exit code."""
    from ..base import journal

    folder = journal.current().folder
    findings = journal.verify_folder(folder)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"The journal in {folder} is {'not ' if findings else ''}whole.", flush=True)
    return NOT_WHOLE if findings else STOPPED


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="blender -b [FILE] -c mcp_bridge",
        description="Serve MCP from this Blender until Ctrl-C. The environment decides what is not given here.",
        epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    )
    parser.add_argument("--host", help="address to listen on (BLENDER_HOST, 127.0.0.1)")
    parser.add_argument("--port", help="port to listen on (BLENDER_PORT, 9876)")
    parser.add_argument(
        "--verify-journal",
        action="store_true",
        help="check the audit journal, serve nothing",
    )
    return parser


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C or SIGTERM has come; a second Ctrl-C interrupts at once."""
    came: list[int] = []

    def on_signal(number: int, _frame: object) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            # None: Blender's own handler, set in C, which Python cannot restore. Blender is about to end.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
