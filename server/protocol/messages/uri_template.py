# SPDX-License-Identifier: GPL-3.0-or-later
"""Matches URIs with URI templates (RFC 6570 level 1 and `{+path}`) and expands templates to URIs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

_EXPRESSION = re.compile(r"\{(\+?)([A-Za-z0-9_]+)\}")


class UriTemplate:
    """A parsed template such as `blender://object/{name}`.

    `{name}` matches one segment and is percent-decoded, so that a name may hold a slash as `%2F`;
    `{+name}` matches the rest with its slashes. Raises ValueError for any other expression.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        pattern, end = "", 0
        for found in _EXPRESSION.finditer(template):
            literal = template[end : found.start()]
            pattern += f"{re.escape(literal)}(?P<{found[2]}>{'.+' if found[1] else '[^/?#]+'})"
            end = found.end()
        rest = template[end:]
        if "{" in rest or "{" in _EXPRESSION.sub("", template):
            raise ValueError(f"URI template {template!r}: only {{name}} and {{+name}} are known")
        self._pattern = re.compile(pattern + re.escape(rest), re.DOTALL)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in order."""
        return tuple(self._pattern.groupindex)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of `uri`, decoded, or None if the URI does not fit this template."""
        found = self._pattern.fullmatch(uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None

    def expand(self, variables: Mapping[str, str]) -> str:
        """Return the URI for these variables, percent-encoded. Raises KeyError for a missing one."""
        return _EXPRESSION.sub(
            lambda found: quote(variables[found[2]], safe="/" if found[1] else ""), self.template
        )
