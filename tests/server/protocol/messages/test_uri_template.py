# SPDX-License-Identifier: GPL-3.0-or-later
"""URI templates match what they expand to."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages.uri_template import UriTemplate
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(min_size=1))
def test_any_name_goes_there_and_back(name: str) -> None:
    template = UriTemplate("blender://object/{name}")
    try:
        uri = template.expand({"name": name})
    except UnicodeEncodeError:
        return  # half a surrogate pair has no place in a URI
    assert template.match(uri) == {"name": name}


def test_a_segment_ends_at_a_slash_and_a_path_does_not() -> None:
    assert UriTemplate("a://{x}/data").match("a://1/data") == {"x": "1"}
    assert UriTemplate("a://{x}").match("a://1/2") is None
    assert UriTemplate("a://{+x}").match("a://1/2") == {"x": "1/2"}
    assert UriTemplate("a://{x}").match("a://1%2F2") == {"x": "1/2"}
    assert UriTemplate("a://{x}.b").match("a://1xb") is None


def test_variables_in_order_and_unknown_expressions() -> None:
    assert UriTemplate("a://{x}/{y}").variables == ("x", "y")
    with pytest.raises(ValueError, match=r"only \{name\} and \{\+name\}"):
        UriTemplate("a://{?x}")
