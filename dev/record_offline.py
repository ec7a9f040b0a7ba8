# SPDX-License-Identifier: GPL-3.0-or-later
"""Records server/clients/offline.json: the stdio shim's answers while there is no Blender. `make offline`."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from blenders import BUILD, ROOT

os.environ["BLENDER_USER_RESOURCES"] = str(BUILD / "user")
sys.path.append(str(ROOT / "tests"))


def main() -> None:
    """Write the file."""
    import_module("bpy")
    addon_utils = import_module("addon_utils")  # a module of Blender's own, which Python finds only after bpy
    addon_utils.enable("bl_ext.user_default.mcp_bridge", default_set=True)
    from support.bridges import recording

    (ROOT / "server" / "clients" / "offline.json").write_text(
        recording.text(recording.record()), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
