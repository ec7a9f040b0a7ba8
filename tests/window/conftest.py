# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests with Blender's window, on a virtual screen; run by `make test-window`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.on_screen import window as window_support

#: Seconds that a test may take, starting Blender included: these wait for what a screen shows, and machines differ.
_LONGEST_S = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(_LONGEST_S))


@pytest.fixture(scope="session")
def window() -> Iterator[window_support.Window]:
    """A Blender with its window and the extension enabled, shared by all tests; each leaves it as it was."""
    with window_support.start("shared") as started:
        yield started
