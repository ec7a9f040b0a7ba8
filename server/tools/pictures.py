# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts pictures into results: the picture itself if it is small enough, else a preview with a link, or a link."""

from __future__ import annotations

from typing import Any

from ...base.errors import LimitExceeded
from ...files.client_files import store
from ...scene.look.picture import Format
from ..file_links import link
from ..protocol.context import RequestContext
from ..protocol.messages import content

__all__ = ("MOST_BYTES", "picture_block")

#: The most bytes of a picture in a result: clients paste it into a prompt, a third longer in base64.
MOST_BYTES = 256 * 1024


def picture_block(
    context: RequestContext, data: bytes, picture_format: Format, *, name: str = "picture"
) -> dict[str, Any]:
    """Return the picture itself, or a link to the client's own copy of a picture that is too large.

    Raises LimitExceeded if it is too large and the client's space for files is full.
    """
    mime_type = f"image/{picture_format}"
    if len(data) <= MOST_BYTES:
        return content.image(data, mime_type)
    ending = "jpg" if picture_format == "jpeg" else picture_format
    try:
        return link(store.keep(context.client.id, f"{name}.{ending}", data))
    except LimitExceeded as error:
        error.add_note("Ask for a smaller max_size, or for the format jpeg.")
        raise
