# SPDX-License-Identifier: GPL-3.0-or-later
"""Blenders for the stories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.bridges.serving import Served, serving


@pytest.fixture(scope="session")
def factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A Blender with its factory scene, shared by all tests: each story begins by taking away the last one's table."""
    with serving(tmp_path_factory.mktemp("factory")) as served:
        yield served


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A Blender with 10,000 objects more, shared by all tests: they only read."""
    with serving(tmp_path_factory.mktemp("large"), objects=10_000) as served:
        yield served
