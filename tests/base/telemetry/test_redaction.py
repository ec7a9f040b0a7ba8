# SPDX-License-Identifier: GPL-3.0-or-later
"""No kept text has a token, a key or a password. `test_journal.py` shows it for records."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.telemetry import redaction


@pytest.mark.parametrize("word", redaction._SECRET_NAMES)
def test_each_name_of_a_secret_is_found(word: str) -> None:
    for name in (word, word.upper(), f"my_{word}", f"größe_{word}"):
        assert redaction.without_secrets(f"{name} = 'abcd1234'") == f"{name} = '(left out)'"


@pytest.mark.parametrize(
    "name",
    [
        "password\N{NO-BREAK SPACE}",
        "ap\N{LATIN SMALL LETTER DOTLESS I}key",
        "\N{KELVIN SIGN}ey_to\N{KELVIN SIGN}en",
    ],
)
def test_names_of_secrets_in_other_letters_are_found(name: str) -> None:
    assert "abcd1234" not in redaction.without_secrets(f"{name}='abcd1234'")


@pytest.mark.parametrize("start", [f"{each}{mark}" for each in redaction._KEYS_BEGIN for mark in "-_"])
def test_each_kind_of_key_is_found(start: str) -> None:
    assert redaction.without_secrets(f"a = {start}0123456789abcdef;") == "a = (left out);"
