# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of scripts share: `pytestmark = pytest.mark.usefixtures("fresh_file")`."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.language import compile as compiling
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.seldom import Counts
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running.warm import warm


@pytest.fixture
def fresh_file() -> Iterator[None]:
    """Blender's own start-up file, and no run counted yet."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    yield
    execute._rate.clear()


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    """Hundreds of tests run scripts in forks of this Blender, and none of these has to load what scripts need."""
    warm()


#: How the transformer writes the scripts: by its own count, or all code as if it ran seldom, or as if it ran often.
_WRITTEN = ("as counted",) if bpy.app.version >= (4, 5) else ("seldom", "often")


@pytest.fixture(params=_WRITTEN, scope="module")
def written(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both forms of guarded code, in one Blender; the others test the form that a script really gets."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "seldom":
            patch.setattr(Counts, "seldom", lambda self: frozenset(node for node, *_ in self._pieces))
        elif request.param == "often":
            patch.setattr(Counts, "seldom", lambda self: frozenset())
        compiling._kept.cache_clear()
        yield
    compiling._kept.cache_clear()
