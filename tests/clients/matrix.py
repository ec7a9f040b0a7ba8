# SPDX-License-Identifier: GPL-3.0-or-later
"""Run real clients against a Blender that serves, over each transport that they know, and print what works in each.

    make clients-matrix                          all of them; installs what is not there from npm and PyPI
    make clients-matrix ARGS="--only codex gemini"
    make clients-matrix ARGS="--write"           and put the table into docs/clients.md
    make clients-matrix ARGS="--check"           only those that install quickly; fails where a cell is
                                                 worse than docs/clients.md says, twice in a row

Assistants talk to a scripted model on this computer (model.py) that writes down what reaches it; SDKs are used by small
programs. Between client and Blender stands a tap (tap.py) that writes down what both say.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for _folder in ("tests", "dev"):
    sys.path.insert(0, str(ROOT / _folder))
os.environ.setdefault("BLENDER_USER_RESOURCES", str(ROOT / "build" / "user"))

import running  # noqa: E402 - found by the path above
import table  # noqa: E402
from agents import AGENTS, Agent  # noqa: E402
from sdks import SDKS, Sdk  # noqa: E402


def main() -> int:
    """Return 0, or with --check 1 where a cell is worse than the page says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=(), metavar="CLIENT", help="ids of clients")
    parser.add_argument("--write", action="store_true", help="put the table into docs/clients.md")
    parser.add_argument("--check", action="store_true", help="compare with docs/clients.md")
    parser.add_argument("--verbose", action="store_true", help="print what the clients print")
    options = parser.parse_args()
    chosen = [
        one
        for one in (*AGENTS, *SDKS)
        if (one.id in options.only if options.only else one.quick or not options.check)
    ]
    with tempfile.TemporaryDirectory() as folder, running.blender(Path(folder)) as served:

        def run(one: Agent | Sdk, transports: Sequence[str], part: str) -> list[running.Row]:
            place = Path(folder) / part
            return list(running.rows(one, transports, served, place, verbose=options.verbose))

        rows, worse = [], []
        for one in chosen:
            found = run(one, one.transports, "first")
            if options.check and (again := [row.transport for row in found if table.worse(row)]):
                found = [row for row in found if row.transport not in again] + run(one, again, "again")
                worse += [line for row in found for line in table.worse(row)]
            rows += found
    print(table.markdown(rows))
    skipped = dict.fromkeys(f"SKIPPED: {row.client}, {row.note}" for row in rows if row.note)
    print("\n".join(skipped))
    if options.write:
        table.write([row for row in rows if not row.note])
    if options.check:
        if all(row.note for row in rows):
            worse.append("No client could be tried: is there a network?")
        print("\n".join(worse) or "As docs/clients.md says.")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
