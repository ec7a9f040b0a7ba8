# SPDX-License-Identifier: GPL-3.0-or-later
"""The reviewed names of numpy's functions, `facts/numpy.json`: what a script may call, what is refused, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ("LISTS",)

LISTS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "facts" / "numpy.json").read_text(encoding="utf-8")
)
"""By section; the names of most sections are one text, with spaces between them."""
