# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the tools that clients can call now, for tools that look for others or call them."""

from __future__ import annotations

from ..protocol.features import Features, Tool

__all__ = ("serve", "served_tools")

_features = Features()


def serve(features: Features) -> None:
    """Set the features whose tools can be called. The bridge calls this when it starts."""
    global _features
    _features = features


def served_tools() -> tuple[Tool, ...]:
    """Return every tool that clients can call now, those of other extensions too."""
    return tuple(_features.tools.values())
