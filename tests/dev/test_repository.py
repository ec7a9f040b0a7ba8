# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing from a repository of another name: nothing in the extension names the repository it came from."""

from __future__ import annotations

from pathlib import Path

import extension
from support.running import blender

# Blender asks for online access even where a repository is a folder.
_INSTALL = """
import importlib, pkgutil
preferences = bpy.context.preferences
preferences.system.use_online_access = True
bpy.ops.preferences.extension_repo_add(name="studio", remote_url=URL, type="REMOTE")
index = [repo.module for repo in preferences.extensions.repos].index("studio")
bpy.ops.extensions.repo_sync(repo_index=index)
bpy.ops.extensions.package_install(repo_index=index, pkg_id="mcp_bridge", enable_on_install=True)
preferences.system.use_online_access = False
"""

_USE = """
name = "bl_ext.studio.mcp_bridge"
assert addon_utils.check(name) == (True, True)
addon_utils.disable(name)
assert addon_utils.check(name)[1] is False
assert addon_utils.enable(name) is not None
package = importlib.import_module(name)
modules = [info.name for info in pkgutil.walk_packages(package.__path__, name + ".")]
for module in modules:
    if ".windows." not in module:  # only Windows has what they call
        importlib.import_module(module)
addon_utils._extensions_warnings_get._is_first = True
assert addon_utils._extensions_warnings_get() == {}
print("imported", len(modules))
"""


def test_works_under_another_repositorys_name(tmp_path: Path) -> None:
    index = extension.repository(tmp_path / "dist") / "index.json"
    env = blender.environment(tmp_path, installed=False)
    printed = blender.run(f"URL = {index.as_uri()!r}\n{_INSTALL}{_USE}", env, enabled=False)
    assert int(printed.split("imported ")[1].split()[0]) > 10
