# SPDX-License-Identifier: GPL-3.0-or-later
"""Blenders for the stories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Served, serving


@pytest.fixture
def factory(tmp_path: Path) -> Iterator[Served]:
    """A Blender with its factory scene, fresh for every test."""
    with serving(tmp_path) as served:
        yield served


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A Blender with 10,000 objects more, shared by all tests: they only read."""
    with serving(tmp_path_factory.mktemp("large"), objects=10_000) as served:
        yield served
