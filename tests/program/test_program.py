# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that has installed the extension itself serves, rehearses, imports and renders."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clients.raw_client import RawClient
from support.on_screen import window
from support.running.ports import free_port, is_open

_TOKEN = "a-token-for-tests-alone"
_OBJ = b"v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n"


def test_the_extension_that_it_installed_comes_up_without_a_warning() -> None:
    code = (
        "import addon_utils; "
        "print('FOUND', addon_utils.check('bl_ext.user_default.mcp_bridge'), "
        "addon_utils._extensions_warnings_get())"
    )
    with window.program("installed", "--python-exit-code", "1", "--python-expr", code) as process:
        printed, _ = process.communicate(timeout=60)
    assert (process.returncode, "FOUND (True, True) {}" in printed) == (0, True), printed


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    """A client of a program that serves and runs scripts unasked."""
    port = free_port()
    env = {"BLENDER_MCP_TOKEN": _TOKEN, "BLENDER_MCP_CONFIRM": "auto"}
    with window.program("client", "-c", "mcp_bridge", "--port", str(port), env=env) as process:
        until = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        connected = RawClient(port, _TOKEN)
        yield connected
        connected.close()


def test_a_script_is_rehearsed_in_the_same_program(client: RawClient) -> None:
    code = "import bpy\nprint('on a copy')\nbpy.data.objects['Cube'].location.z = 2\nresult = bpy.app.version_string"
    here = client.call("execute_blender_code", code="import bpy\nresult = bpy.app.version_string")
    report = client.call("rehearse_script", code=code)["structuredContent"]
    assert (report["status"], report["outcome"], report["stdout"]) == ("success", "success", "on a copy\n")
    assert report["result"] == here["structuredContent"]["result"]
    assert report["difference"]["changed"][0]["changes"] == [
        {"property": "location", "before": [0.0, 0.0, 0.0], "after": [0.0, 0.0, 2.0]}
    ]
    assert sorted(report["confinement"]["in_force"]) == ["network", "process", "read", "write"]


def _zygotes() -> list[Path]:
    """Processes that were started to be copied, from a program that starts no threads for its work."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            started_as = (process / "cmdline").read_bytes()
            if b"\0--threads\0001\0" in started_as and b"ZYGOTE=" in (process / "environ").read_bytes():
                found.append(process)
    return found


@pytest.mark.skipif(window.SUITE == "trixie", reason="Debian 13's Blender has threads of jemalloc and TBB")
def test_a_program_is_warm_once_and_copied_for_each_rehearsal(client: RawClient) -> None:
    until = time.monotonic() + 60
    while True:
        began = time.monotonic()
        report = client.call("rehearse_script", code="result = 1")["structuredContent"]
        seconds = time.monotonic() - began
        assert report["outcome"] == "success", report
        if _zygotes() and seconds < 1.0:  # one that cannot be copied ends at once
            return
        assert time.monotonic() < until, f"a rehearsal took {seconds:.2f} s; zygotes: {_zygotes()}"
        time.sleep(0.5)


def test_a_file_is_opened_in_a_confined_program(client: RawClient) -> None:
    sent = client.call("upload_file", name="part.obj", data=base64.b64encode(_OBJ).decode())
    brought = client.call("import_file", file=sent["structuredContent"]["file"], target_size=1)
    assert not brought["isError"], brought["content"]
    assert brought["structuredContent"]["dimensions_m"] == [1, 0, 0.5]


def test_a_picture_is_rendered_in_a_program_of_its_own(client: RawClient) -> None:
    rendered = client.call("render_image", resolution=[32, 16], samples=1, format="png")
    assert not rendered["isError"], rendered["content"]
    assert base64.b64decode(rendered["content"][0]["data"]).startswith(b"\x89PNG")
