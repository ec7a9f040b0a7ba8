# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes tokens, keys and passwords from texts that the extension keeps. All kept texts go through this."""

from __future__ import annotations

import json
import re

from .. import settings

__all__ = ("LEFT_OUT", "is_secret_name", "without_secrets")

#: Stands in a text where a secret was.
LEFT_OUT = "(left out)"
_KEYS_BEGIN = ("sk", "pk", "ghp", "gho", "glpat", "hf", "xoxa", "xoxb", "xoxp")
_SECRET_NAMES = ("password", "passwd", "apikey", "api_key", "secret", "token")
#: Texts that look like a token or a key, and values that a text assigns to a name such as password, token or key.
_LIKE_A_KEY = re.compile(
    rf"\b(?:{'|'.join(_KEYS_BEGIN)})[-_][\w-]{{16,}}|(?<=Bearer )[\w.~+/-]{{16,}}|(?<=token=)[\w-]{{16,}}"
)
_SET = re.compile(
    rf"""(\b\w*(?:{"|".join(_SECRET_NAMES)})\\?["']?\s*[:=]\s*\\?["'])[^"'\\\s]{{4,}}(?=\\?["'])""",
    re.IGNORECASE,
)
#: One of these is in each text that `_LIKE_A_KEY` finds: to look for them first takes a hundredth of its time.
_IN_KEYS = ("Bearer ", "token=", *(f"{each}{mark}" for each in _KEYS_BEGIN for mark in "-_"))
_SHORTEST_SECRET = 8


def is_secret_name(name: str) -> bool:
    """Return whether a value of this name is a secret, as a password or a token is."""
    return any(each in name.lower() for each in _SECRET_NAMES)


def without_secrets(text: str, *, as_json: bool = False) -> str:
    """`text` without the tokens and keys of the settings and without similar texts."""
    if any(each in text for each in _IN_KEYS):
        text = _LIKE_A_KEY.sub(LEFT_OUT, text)
    lowered = text.lower()
    # Some letters outside ASCII count as those of a name, too, where case does not matter: the long s, the dotless i.
    if not text.isascii() or any(each in lowered for each in _SECRET_NAMES):
        text = _SET.sub(rf"\1{LEFT_OUT}", text)
    for secret in settings.secrets():
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(json.dumps(secret)[1:-1] if as_json else secret, LEFT_OUT)
    return text
