# SPDX-License-Identifier: GPL-3.0-or-later
"""Each living object has a number of its own, and Python raises no audit event for it."""

from __future__ import annotations

import sys

from bl_ext.user_default.mcp_bridge.base.identity import identity


class _Alike:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_each_object_has_a_number_of_its_own() -> None:
    objects = [
        *(_Alike() for _ in range(100)),
        *([] for _ in range(100)),
        *((each,) for each in range(100)),
        int,
        None,
    ]
    assert len({*map(identity, objects)}) == len(objects)
    assert [*map(identity, objects)] == [*map(identity, objects)]


def test_no_audit_event_is_raised() -> None:
    events: list[str] = []
    listening = True
    sys.addaudithook(lambda event, _details: events.append(event) if listening and "id" in event else None)
    one = object()
    identity(one)
    assert not events
    id(one)
    listening = False
    assert events == ["builtins.id"]
