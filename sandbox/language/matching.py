# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's part for `match`: Python's own patterns read attributes and call classes without a guard."""

from __future__ import annotations

import ast
from typing import Any

from . import hooks
from .builtin_methods import PLAIN_METHODS
from .expressions import Expressions
from .nodes import LOAD

__all__ = ("Matching",)


class Matching(Expressions):
    """Rewrites `match` statements."""

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Rewrite `match` with patterns that read no attributes."""
        loose = self.is_loose(node.subject)
        subject = self.visit(node.subject)
        node.subject = self.hold(subject) if loose else subject
        node.cases = self.visit_all(node.cases)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Rewrite `case Color.RED` as a capture and a condition: Python would read the attribute without a guard."""
        conditions: list[ast.expr] = []
        node.pattern = self._pattern(node.pattern, conditions)
        if node.guard is not None:
            conditions.append(self.visit(node.guard))
        if len(conditions) > 1:
            first = conditions[0]
            place: dict[str, Any] = {"lineno": first.lineno, "col_offset": first.col_offset}
            node.guard = ast.BoolOp(ast.And(), conditions, **place)
        elif conditions:
            node.guard = conditions[0]
        node.body = self.visit_all(node.body)
        return node

    def _pattern(
        self, pattern: ast.pattern, conditions: list[ast.expr], *, alternative: bool = False
    ) -> ast.pattern:
        match pattern:
            case ast.MatchValue(value=ast.Attribute() as value):
                if alternative:
                    self.refuse(
                        pattern,
                        "syntax",
                        "a dotted value inside | is not supported here",
                        "write one case for each",
                    )
                return self._captured(pattern, [value], conditions)
            case ast.MatchOr(patterns=patterns) if not alternative and all(
                isinstance(each, ast.MatchValue) for each in patterns
            ):
                values = [each.value for each in patterns if isinstance(each, ast.MatchValue)]
                if any(isinstance(value, ast.Attribute) for value in values):
                    return self._captured(pattern, values, conditions)
            case ast.MatchOr(patterns=patterns):
                pattern.patterns = [self._pattern(each, conditions, alternative=True) for each in patterns]
            case ast.MatchSequence(patterns=patterns):
                pattern.patterns = [
                    self._pattern(each, conditions, alternative=alternative) for each in patterns
                ]
            case ast.MatchAs(pattern=inner, name=name):
                self.check_binding(pattern, name)
                if inner is not None:
                    pattern.pattern = self._pattern(inner, conditions, alternative=alternative)
            case ast.MatchStar(name=name):
                self.check_binding(pattern, name)
            case ast.MatchMapping(patterns=patterns, rest=rest):
                self.check_binding(pattern, rest)
                if not all(isinstance(key, ast.Constant) for key in pattern.keys):
                    self.refuse(
                        pattern, "syntax", "only literal keys are supported in a mapping pattern", "use if"
                    )
                pattern.patterns = [
                    self._pattern(each, conditions, alternative=alternative) for each in patterns
                ]
            case ast.MatchClass():
                return self._class_pattern(pattern, conditions, alternative=alternative)
        return pattern

    def _captured(
        self, pattern: ast.pattern, values: list[ast.expr], conditions: list[ast.expr]
    ) -> ast.pattern:
        """Rewrite `case A.x | A.y` as `case <1> if <1> == A.x or <1> == A.y`."""
        place: dict[str, Any] = {"lineno": pattern.lineno, "col_offset": pattern.col_offset}
        temporary = self.temporary()
        tests: list[ast.expr] = [
            self.call(
                hooks.COMPARE,
                pattern,
                self.constant("==", pattern),
                ast.Name(temporary, LOAD, **place),
                self.visit(value),
            )
            for value in values
        ]
        conditions.append(tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests, **place))
        end = {"end_lineno": pattern.end_lineno, "end_col_offset": pattern.end_col_offset}
        return ast.MatchAs(None, temporary, **place, **end)

    def _class_pattern(
        self, pattern: ast.MatchClass, conditions: list[ast.expr], *, alternative: bool
    ) -> ast.pattern:
        """Rewrite `case str()`, `case int(n)`; refuse patterns that would read attributes without a guard."""
        place: dict[str, Any] = {"lineno": pattern.lineno, "col_offset": pattern.col_offset}
        end = {"end_lineno": pattern.end_lineno, "end_col_offset": pattern.end_col_offset}
        known = isinstance(pattern.cls, ast.Name) and pattern.cls.id not in self.kinds.names
        name = pattern.cls.id if known else ""  # type: ignore[attr-defined]
        if pattern.kwd_patterns or len(pattern.patterns) > (1 if name in PLAIN_METHODS else 0):
            self.refuse(
                pattern,
                "syntax",
                "patterns that look into an object are not supported",
                "match the class, then use if",
            )
            return pattern
        inner = [self._pattern(each, conditions, alternative=alternative) for each in pattern.patterns]
        if not isinstance(pattern.cls, ast.Name):
            self.refuse(pattern, "syntax", "a dotted class in a pattern is not supported", "use isinstance()")
            return pattern
        cls = (
            self.name(hooks.TYPES.format(name), pattern) if name in hooks.FACADES else self.visit(pattern.cls)
        )
        return ast.MatchClass(cls, inner, [], [], **place, **end)
