# SPDX-License-Identifier: GPL-3.0-or-later
"""From *Connect…* to a connected client, by the mouse; pictures of each step are kept."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from blenders import ROOT
from support.bridges.scripted_bridge import ShimClient
from support.on_screen import window as window_support
from support.on_screen.reading import Rectangle
from support.running.blender import EXTENSION
from support.running.ports import free_port

VIEWPORT = 700, 500
#: How high the top bar and the status bar are.
BAR = 32


def test_a_client_is_connected_and_taken_out_by_the_mouse() -> None:
    with window_support.start("connecting", env={"BLENDER_PORT": str(free_port())}) as window:
        path = window.run(
            "import importlib\nfrom pathlib import Path\n"
            # Blender has looked for programs before this one came, and looks again only after a while.
            f"importlib.import_module({EXTENSION!r} + '.operators.state')._looked = None\n"
            "path = Path.home() / '.cursor' / 'mcp.json'\n"
            "path.parent.mkdir(parents=True, exist_ok=True)\n"
            'path.write_text(\'{\\n  // mine\\n  "mcpServers": {\\n    "other": {"command": "x"}\\n  }\\n}\\n\')\n'
            "result = str(path)"
        )
        before = _text(window, path)
        tab = window.open_tab()
        window.press_on("Start", tab)
        window.find("None connected", tab)
        window.press_on("Connect", tab)
        window.settle(1.0)
        window.picture("connect-menu")
        window.press_on("Cursor", tab)
        window.find("Connect Cursor")
        window.settle(1.0)
        window.picture("connect-shown")
        assert _text(window, path) == before
        window.press_on("Write")
        window.settle(1.0)
        window.picture("connect-written")
        written = _text(window, path)
        assert "// mine" in written
        server = json.loads(written.replace("// mine", ""))["mcpServers"]["blender"]
        environ = {**server["env"], "XDG_RUNTIME_DIR": str(window_support.FOLDER / "connecting" / "run")}
        with ShimClient(ROOT / "server" / "clients" / "stdio_shim.py", environ=environ) as client:
            client.initialize()
            window.find("Cursor", tab)
            window.picture("connect-connected")
        window.press_on("Connect", tab)
        window.press_on("Take Out Cursor")
        window.find("Take Blender out of")
        window.settle(1.0)
        window.picture("connect-take-out")
        window.press_on("Take Out")
        window.settle(1.0)
        assert _text(window, path) == before


def test_from_installing_to_the_first_script_in_five_clicks() -> None:
    """With a program whose plug-in starts the bridge's command: it has no token, and asks to come in."""
    with window_support.start("pairing", env={"BLENDER_PORT": str(free_port())}) as window:
        window.press_on("Open the MCP Tab", Rectangle(0, 0, window.width, BAR))
        window.find("Let assistants on this computer")
        tab = window.region()
        window.press_on("Start", tab)
        window.find("None connected", tab)
        environ = {"XDG_RUNTIME_DIR": str(window_support.FOLDER / "pairing" / "run")}
        with ShimClient(ROOT / "server" / "clients" / "stdio_shim.py", environ=environ) as client:
            client.initialize()
            client.request(1, "tools/call", {"name": "get_scene_info", "arguments": {}})
            while (answer := client.next(30.0)).get("id") != 1:
                pass
            [code] = re.findall(r"the code (\d\d-\d\d)", answer["result"]["content"][0]["text"])
            window.find("test wants to connect", tab)
            window.settle(1.0)
            window.picture("pairing-asked")
            asking = f"from {EXTENSION}.operators import state\nresult = state.view.asking"
            assert window.run(asking) == [["test", code]]
            window.press_on("Allow", tab, which=1)  # the question says "allow it?" above
            while client.next(30.0).get("method") != "notifications/tools/list_changed":
                pass  # it comes in by itself
            client.request(2, "tools/call", {"name": "get_scene_info", "arguments": {}})
            while (answer := client.next(30.0)).get("id") != 2:
                pass
            assert not answer["result"].get("isError"), answer
            window.settle(1.0)
            window.picture("pairing-allowed")
            script = {"script": "import bpy\nbpy.ops.mesh.primitive_cone_add()", "title": "A cone"}
            client.request(3, "tools/call", {"name": "inject_bpy_script", "arguments": script})
            status = Rectangle(0, window.height - BAR, window.width, BAR)
            window.find("request waits", status, timeout=90.0)
            window.press_on("request waits", status)
            window.press_on("Apply")
            until = time.monotonic() + 60.0
            while not window.run("result = 'Cone' in bpy.data.objects"):
                assert time.monotonic() < until
                time.sleep(0.2)
        assert window.clicks == 5


def _text(window: Any, path: str) -> str:
    found: str = window.run(f"from pathlib import Path\nresult = Path({path!r}).read_text()")
    return found
