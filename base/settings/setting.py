# SPDX-License-Identifier: GPL-3.0-or-later
"""Declare a setting in one place: its default, its parser, and its texts.

The declaration gives the name of the environment variable, the preference with its label and tooltip, its section on
the preferences page, and its row in docs/settings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

__all__ = ("Section", "Setting", "declare", "declared")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the preferences' page."""

    title: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """The properties of a setting besides its type and default.

    `about` is the tooltip and the text in docs/settings.md, where `more` (Markdown) follows it. A setting with a
    `label` is a preference of the user; if it has no `section`, other code draws it. `choices` are the identifiers,
    labels and tooltips of an enum, `widget` has more arguments for the Blender property.
    """

    parse: Callable[[Any], Any]
    about: str
    more: str = ""
    variable: str = ""
    label: str = ""
    section: Section | None = None
    choices: tuple[tuple[str, str, str], ...] = ()
    widget: Mapping[str, Any] = field(default_factory=dict)
    secret: bool = False


def declare(default: T, parse: Callable[[Any], Any], about: str, **more: Any) -> T:
    """Declare a dataclass field that is a setting; `more` are the other fields of `Setting`."""
    made: T = field(default=default, metadata={"setting": Setting(parse, about, **more)})
    return made


def declared(owner: type) -> dict[str, Setting]:
    """The settings of a dataclass, by the names of its fields."""
    return {one.name: one.metadata["setting"] for one in fields(owner) if "setting" in one.metadata}
