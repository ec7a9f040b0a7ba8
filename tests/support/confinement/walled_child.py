# SPDX-License-Identifier: GPL-3.0-or-later
"""A rehearsal's child whose only wall inside is the audit wall: it runs a script by plain `exec`, as `bare_child`."""

from __future__ import annotations

import sys
from typing import Any

import bare_child


def main(facts: dict[str, Any], say: Any) -> None:
    """As the product's child, with another `execute.run`."""
    bare_child.main(facts, say, has_audit_wall=True)


if __name__ == "__main__":
    sys.exit("this runs in a rehearsal only")
