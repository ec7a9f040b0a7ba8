# SPDX-License-Identifier: GPL-3.0-or-later
"""What connections share."""

from __future__ import annotations

from dataclasses import replace

from bl_ext.user_default.mcp_bridge.server.protocol.core import CAPABILITIES, STATELESS_CAPABILITIES
from mcp_types import ServerCapabilities

from support.bridges.protocol import core


def test_a_schema_is_compiled_once_and_anew_for_a_replaced_tool() -> None:
    served = core()
    tool = served.features.tools["echo"]
    check = served.check(tool)
    assert served.check(tool) is check
    changed = replace(tool, input_schema={"type": "object"})
    assert served.check(changed)({}) is None
    assert check({}) is not None


def test_capabilities_are_those_of_the_schema() -> None:
    for capabilities in (CAPABILITIES, STATELESS_CAPABILITIES):
        read = ServerCapabilities.model_validate(capabilities)
        assert read.model_dump(by_alias=True, exclude_none=True) == capabilities
