# SPDX-License-Identifier: GPL-3.0-or-later
"""Content blocks are those of the schema, as the official types read them."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from mcp_types import CallToolResult, PromptMessage


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (content.text("a"), "text"),
        (content.image(b"\0", "image/jpeg"), "image"),
        (content.audio(b"\0"), "audio"),
        (content.resource_link("a://1", "one", mimeType="image/png", size=3), "resource_link"),
        (content.embedded(content.text_contents("a://1", "x")), "resource"),
        (content.embedded(content.blob_contents("a://1", b"x", "image/png")), "resource"),
    ],
)
def test_blocks_are_read_by_the_sdk(block: dict[str, Any], kind: str) -> None:
    (read,) = CallToolResult.model_validate({"content": [block]}).content
    assert read.type == kind
    assert read.model_dump(by_alias=True, exclude_none=True, mode="json") == block
    PromptMessage.model_validate(content.message("user", block))


def test_error_results() -> None:
    result = content.failed(PolicyError("no", line=3))
    assert result.is_error
    assert result.structured == {"status": "error", "error": "PolicyError", "message": "no", "line": 3}
    assert result.content == [content.text("PolicyError (line 3): no")]
