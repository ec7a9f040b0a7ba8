# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launcher does in the process that it confines, as far as it can be done here."""

from __future__ import annotations

import socket
import sys
from contextlib import closing

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher of Linux")


def test_the_proxy_is_not_listened_for_at_the_canarys_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are chosen by a kernel; with one port in 14,000 they met, and what was confined did not start."""
    from bl_ext.user_default.mcp_bridge.sandbox.confinement.linux import launcher

    first = socket.create_server(("127.0.0.1", 0))
    canary = int(first.getsockname()[1])
    plain, given = socket.create_server, iter([first])
    monkeypatch.setattr(socket, "create_server", lambda address: next(given, None) or plain(address))
    monkeypatch.setattr(launcher.namespaces, "loopback_up", lambda: None)
    parent, child = socket.socketpair()
    with closing(parent), closing(child):
        port = launcher._send_listener(child, canary)
        told, [descriptor], _, _ = socket.recv_fds(parent, 100, 1)
        with socket.socket(fileno=descriptor) as listener:
            assert told == b"listener\n"
            assert listener.getsockname()[1] == port != canary
    assert first.fileno() == -1
