# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's API keys, looked at before they are sent: what can't be one is told without asking. No `bpy`."""

from __future__ import annotations

import re

from ...base.errors import PolicyError

__all__ = ("check",)

#: What examples write where a key belongs.
_EXAMPLE = re.compile(r"(?i)your|insert|example|changeme|placeholder|api[_-]?key|<.*>|(.)\1{7}|x{4}|\.\.\.")


def check(service: str, key: str) -> str:
    """The key. Raises PolicyError, whose message does not show it, when it can't be one."""
    if not re.fullmatch(r"[!-~]{16,512}", key):
        raise PolicyError(
            f"What is set as the API key of {service} can't be one: keys have 16 to 512 characters and no spaces.",
            code="bad_key",
        )
    if _EXAMPLE.search(key):
        raise PolicyError(
            f"What is set as the API key of {service} is an example: copy yours from the service's site.",
            code="bad_key",
        )
    return key
