# SPDX-License-Identifier: GPL-3.0-or-later
"""The stdio shim's packaged list is what this bridge really answers."""

from __future__ import annotations

import json
from pathlib import Path

from bl_ext.user_default.mcp_bridge.server.clients import stdio_shim

from support.bridges import recording


def test_the_packaged_list_is_what_a_bridge_answers() -> None:
    packaged = Path(stdio_shim.__file__).with_name("offline.json")
    recorded = recording.record()
    assert json.loads(packaged.read_text(encoding="utf-8")) == recorded, (
        "run `make offline` and commit the file"
    )
    assert packaged.read_text(encoding="utf-8") == recording.text(recorded), "run `make offline`"


def test_the_shim_reads_it() -> None:
    offline = stdio_shim.Offline(Path(stdio_shim.__file__).with_name("offline.json"))
    assert "get_scene_info" in offline.read_only
    assert "execute_blender_code" not in offline.read_only


def test_the_list_of_tools_stays_small_enough_for_a_model_to_carry() -> None:
    packaged = json.loads(Path(stdio_shim.__file__).with_name("offline.json").read_text(encoding="utf-8"))
    assert len(json.dumps(packaged["tools"], separators=(",", ":"))) <= 16_000
