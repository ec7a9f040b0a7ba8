# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests with Blender's window, on a virtual screen; run by `make test-window`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support import window as window_support


@pytest.fixture(scope="session")
def window() -> Iterator[window_support.Window]:
    """A Blender with its window and the extension enabled, shared by all tests; each leaves it as it was."""
    with window_support.start("shared") as started:
        yield started
