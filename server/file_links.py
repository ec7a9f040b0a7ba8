# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes links to clients' files for the results of tools."""

from __future__ import annotations

from typing import Any

from ..files.client_files import ClientFile
from .protocol.messages import content

__all__ = ("link",)


def link(file: ClientFile) -> dict[str, Any]:
    """Return a link to a file, for a tool's result."""
    return content.resource_link(file.uri, file.name, mimeType=file.mime_type, size=file.size)
