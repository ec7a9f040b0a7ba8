# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the user's API keys before they are sent, to report an impossible key without a request. No `bpy`."""

from __future__ import annotations

import re

from ...base.errors import PolicyError

__all__ = ("check",)

#: What examples show where the user's own key belongs.
_EXAMPLE = re.compile(r"(?i)your|insert|example|changeme|placeholder|api[_-]?key|<.*>|(.)\1{7}|x{4}|\.\.\.")


def check(service: str, key: str) -> str:
    """Return the key. Raises PolicyError if it cannot be a key; the message does not show it."""
    if not re.fullmatch(r"[!-~]{16,512}", key):
        raise PolicyError(
            f"The API key of {service} in the settings is not valid: keys have 16 to 512 characters and no spaces.",
            code="bad_key",
        )
    if _EXAMPLE.search(key):
        raise PolicyError(
            f"The API key of {service} in the settings is an example: copy yours from the service's site.",
            code="bad_key",
        )
    return key
