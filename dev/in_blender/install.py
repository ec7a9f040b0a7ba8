# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside Blender: installs and enables the extension's zip named by MCP_BRIDGE_ZIP.

This saves the preferences, so that the next start of that Blender has the extension enabled.
"""

from __future__ import annotations

import compileall
import os
import sys
import traceback

import bpy


def main() -> None:
    """Install with Blender's own operator. Raises an error if the extension is not enabled afterwards."""
    import addon_utils

    bpy.ops.extensions.package_install_files(
        repo="user_default", filepath=os.environ["MCP_BRIDGE_ZIP"], enable_on_install=True
    )
    name = "bl_ext.user_default.mcp_bridge"
    if not all(addon_utils.check(name)):
        raise RuntimeError(f"{name} is installed but could not be enabled")
    bpy.ops.wm.save_userpref()
    # Hundreds of Blenders start from copies of this folder; compile its code once for all of them.
    compileall.compile_dir(bpy.utils.user_resource("EXTENSIONS"), quiet=2)


try:
    main()
except BaseException:
    # `blender --python` would open its window and end with exit code 0.
    traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
