# SPDX-License-Identifier: GPL-3.0-or-later
"""A layout that records what panels draw into it, without a window."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy

__all__ = ("CONTEXT", "Drawn", "draw", "layout")


class _Context:
    """The context for panels: the width of the sidebar, the scale, and the members of Blender's own context."""

    region = SimpleNamespace(width=280)
    preferences = SimpleNamespace(
        system=SimpleNamespace(ui_scale=1.0), ui_styles=[SimpleNamespace(widget=SimpleNamespace(points=11.0))]
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(bpy.context, name)  # Blender's context changes with each file


CONTEXT = _Context()


class Drawn:
    """The things that panels drew, in order: labels, properties, operators with their properties, menus."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.icons: list[str] = []
        self.properties: list[str] = []
        self.buttons: list[tuple[str, SimpleNamespace]] = []
        self.menus: list[str] = []
        self.lists: list[str] = []
        self.alerts: list[str] = []

    @property
    def text(self) -> str:
        return " ".join(self.labels)

    def operators(self) -> list[str]:
        return [name for name, _ in self.buttons]

    def leave_out(self, other: Drawn) -> None:
        """Forget the labels that `other` has, which a test does not check."""
        for label in other.labels:
            at = self.labels.index(label)
            del self.labels[at], self.icons[at]


class _Layout:
    """One layout; layouts made from it record into the same place."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self.alert = False

    def row(self, **_: Any) -> _Layout:
        return _Layout(self._drawn)

    column = box = split = grid_flow = row

    def panel(self, name: str, **_: Any) -> tuple[_Layout, _Layout]:
        return _Layout(self._drawn), _Layout(self._drawn)

    def label(self, *, text: str, icon: str = "NONE", **_: Any) -> None:
        self._drawn.labels.append(text)
        self._drawn.icons.append(icon)

    def prop(self, _data: Any, name: str, **_: Any) -> None:
        self._drawn.properties.append(name)

    def operator(self, name: str, *_: Any, **__: Any) -> SimpleNamespace:
        properties = SimpleNamespace()
        self._drawn.buttons.append((name, properties))
        return properties

    operator_menu_enum = operator

    def menu(self, name: str, **_: Any) -> None:
        self._drawn.menus.append(name)

    def progress(self, *, factor: float, text: str, **_: Any) -> None:
        self._drawn.labels.append(f"{text} [{factor:.0%}]")

    def template_icon(self, *, icon_value: int, **_: Any) -> None:
        self._drawn.icons.append(str(icon_value))

    def template_list(self, kind: str, *_: Any, **__: Any) -> None:
        self._drawn.lists.append(kind)

    def separator(self) -> None:
        """Record nothing: a separator only takes room."""


def draw(*classes: Any) -> Drawn:
    """Draw these panels or menus, headers too; return what they drew."""
    drawn = Drawn()
    for cls, method in _methods(classes):
        method(SimpleNamespace(layout=_Layout(drawn), __class__=cls), CONTEXT)
    return drawn


def layout() -> tuple[Any, Drawn]:
    """Return a layout, and the record of what is drawn into it."""
    drawn = Drawn()
    return _Layout(drawn), drawn


def _methods(classes: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    for cls in classes:
        for name in ("draw_header", "draw"):
            if name in vars(cls):
                yield cls, vars(cls)[name]
