# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that a service offers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...base.errors import ExternalServiceError

__all__ = ("RemoteFile",)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that a service offers: its address, and its MD5 (hexadecimal) and size in bytes if known."""

    url: str
    md5: str | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        # The cache uses the MD5 as a file name.
        if self.md5 is not None and not re.fullmatch("[0-9a-f]{32}", self.md5):
            raise ExternalServiceError(
                f"The service names {str(self.md5)[:40]!r} as an MD5, and that is no MD5: the file cannot be checked."
            )
