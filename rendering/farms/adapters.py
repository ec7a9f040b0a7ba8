# SPDX-License-Identifier: GPL-3.0-or-later
"""The adapter of each engine that a target may name."""

from __future__ import annotations

from collections.abc import Mapping

from . import deadline, flamenco, openjd, slurm
from .engines import Adapter

__all__ = ("ADAPTERS",)

ADAPTERS: Mapping[str, Adapter] = {
    "openjd": openjd,
    "slurm": slurm,
    "flamenco": flamenco,
    "deadline": deadline,
}
