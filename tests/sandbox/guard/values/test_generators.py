# SPDX-License-Identifier: GPL-3.0-or-later
"""A script may make any number of generators and other iterators, but only some thousands may be alive at once."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.guard.values.generators import Generators
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Meter, ScriptStopped

from support.sandboxing import language

#: Ways to make an iterator that reads from another one.
_MAKING = [
    "(x for x in it)",
    "zip(it)",
    "map(str, it)",
    "filter(None, it)",
    "enumerate(it)",
    "reversed([it])",
]


def _run(source: str) -> dict[str, Any]:
    return language.run(source, limits=Limits(time_s=30)).names


@pytest.mark.parametrize("making", _MAKING)
def test_a_script_makes_any_number_of_iterators_one_after_another(making: str) -> None:
    source = f"it = [1, 2]\nfor i in range(20_000):\n    last = {making}\nfound = len(list(last))"
    assert _run(source)["found"] in (1, 2)


@pytest.mark.parametrize("making", _MAKING)
def test_only_some_thousands_are_alive_at_once(making: str) -> None:
    for keeping in (f"held.append({making})", f"it = {making}"):
        with pytest.raises(LimitExceeded, match="more than 5,000 iterators at once"):
            _run(f"held = []\nit = iter([1, 2])\nfor i in range(20_000):\n    {keeping}")


def test_never_more_than_six_thousand_are_alive() -> None:
    counted, held = Generators(Meter()), list[object]()
    with pytest.raises(ScriptStopped, match="more than 5,000 iterators at once"):
        held.extend(counted.count_generator(each for each in ()) for _ in range(20_000))
    assert 5_000 <= len(held) <= 6_000
