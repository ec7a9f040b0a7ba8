# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal's child whose only wall inside is the audit wall: otherwise like `bare_child`."""

from __future__ import annotations

import sys
from typing import Any

import bare_child


def main(facts: dict[str, Any], say: Any) -> None:
    """Run the product's child with another `execute.run` and the audit wall."""
    bare_child.main(facts, say, has_audit_wall=True)


if __name__ == "__main__":
    sys.exit("this runs in a rehearsal only")
