# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a script's text against the language, the policy and this Blender, without running it.

Pure: an `RnaIndex` has the facts about Blender. What the text cannot show is left to the guard. For what it shows, a
finding has line, column, source and what to do instead, so that an assistant can correct everything at once.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import asdict, dataclass, field
from typing import Any

from ...base.process import collector
from ..facts.policy import Policy, policy
from ..facts.reasons import instead_of, why_blender, why_builtin, why_module, why_property
from ..guard.modules import import_advice
from ..language.analysis.aliases import aliases, bound_names
from ..language.analysis.certain_calls import called_in_any_case, is_main
from ..language.compile import Compiled, Finding, Import, ScriptRefused, compile_script
from ..language.nodes import children
from ..language.parse import parse
from ..language.prepare import prepare
from ..reference.rna import Property, RnaIndex
from .known_names import why_refused

__all__ = ("ValidationResult", "validate")

#: `bpy.context` members without RNA property, and the type of their value.
_CONTEXT_TYPES = {
    "object": "Object",
    "active_object": "Object",
    "edit_object": "Object",
    "active_bone": "",
    "active_pose_bone": "PoseBone",
}
_CONTEXTS = frozenset(
    "EXEC_DEFAULT EXEC_REGION_WIN EXEC_REGION_CHANNELS EXEC_REGION_PREVIEW EXEC_AREA EXEC_SCREEN".split()
)


@dataclass(frozen=True)
class ValidationResult:
    """The findings: `errors` stop the script, `warnings` may matter; `operator_list` has each idname once."""

    is_valid: bool
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    operator_list: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "is_valid": self.is_valid,
            "errors": [asdict(f) for f in self.errors],
            "warnings": [asdict(f) for f in self.warnings],
            "operator_list": list(self.operator_list),
            "imports": list(self.imports),
            "statistics": dict(self.statistics),
        }


@collector.off()  # the trees have many objects and no garbage: each collection would search the host's objects, too
def validate(text: str, rna: RnaIndex, rules: Policy | None = None) -> ValidationResult:
    """Check a script for this Blender and this policy (default: the level `blender`). Never runs it."""
    rules = rules or policy("blender")
    try:
        compiled = compile_script(text)
    except ScriptRefused as refused:
        return ValidationResult(False, tuple(refused.findings), statistics=_count_lines(text))
    checker = _Checker(prepare(parse(text)), text, rna, rules)
    errors, warnings = checker.run(compiled)
    return ValidationResult(
        not errors,
        tuple(errors),
        tuple(warnings),
        tuple(dict.fromkeys(checker.operators)),
        tuple(dict.fromkeys(i.module for i in compiled.imports)),
        _count_lines(text) | checker.counts,
    )


def _count_lines(text: str) -> dict[str, int]:
    return {"lines": text.count("\n") + 1, "characters": len(text)}


class _Checker:
    """One pass over one script."""

    def __init__(self, tree: ast.Module, text: str, rna: RnaIndex, rules: Policy) -> None:
        self.tree = tree
        self.lines = text.splitlines()
        self.rna = rna
        self.rules = rules
        self.operators: list[str] = []
        self.counts = dict.fromkeys(("functions", "classes", "loops", "calls", "operators"), 0)
        self.aliases: dict[str, str] = {}
        self.bound: dict[str, set[str]] = {}
        self._errors: list[Finding] = []
        self._warnings: list[Finding] = []
        self._tentative_imports: set[tuple[int, int]] = set()
        """The lines and columns of imports that may never run, or may fail on purpose."""
        self._functions = 0
        """The number of functions around the current node that may never be called."""
        self._called = called_in_any_case(tree)
        self._own_operators = _own_operators(tree)

    def run(self, compiled: Compiled) -> tuple[list[Finding], list[Finding]]:
        """Return errors and warnings in the order of the source."""
        self.bound = bound_names(self.tree)
        self.aliases = aliases(self.bound)
        self._walk(self.tree, tentative=False)
        for found in compiled.imports:
            self._import(found)
        order = lambda f: (f.line, f.column)  # noqa: E731 - one key for two sorts
        return sorted(self._errors, key=order), sorted(self._warnings, key=order)

    # --- the walk -------------------------------------------------------------------------------------------

    def _walk(self, node: ast.AST, *, tentative: bool) -> None:
        """Check a node and those below. `tentative` code (try, version checks) may fail on purpose: only warn."""
        match node:
            case ast.FunctionDef() | ast.Lambda():
                self.counts["functions"] += 1
            case ast.ClassDef():
                self.counts["classes"] += 1
            case ast.For() | ast.While() | ast.comprehension():
                self.counts["loops"] += 1
            case ast.Call():
                self.counts["calls"] += 1
                self._call(node, tentative)
                self._builtin(node, tentative)
            case ast.Import() | ast.ImportFrom() if self._may_not_run(tentative):
                self._tentative_imports.add((node.lineno, node.col_offset + 1))
            case ast.Attribute():
                self._attribute(node, tentative)
                while isinstance(node, ast.Attribute):  # the whole chain was checked at its top
                    node = node.value
                self._walk(node, tentative=tentative)
                return
        inside = isinstance(node, ast.FunctionDef | ast.Lambda)
        inside = inside and not (isinstance(node, ast.FunctionDef) and node.name in self._called)
        self._functions += inside
        self._walk_into(node, tentative=tentative)
        self._functions -= inside

    def _walk_into(self, node: ast.AST, *, tentative: bool) -> None:
        if tentative or not isinstance(node, _TENTATIVE) or is_main(node):
            for child in children(node):
                self._walk(child, tentative=tentative)
            return
        for name, value in ast.iter_fields(node):
            inside = _is_tentative(node, name)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    self._walk(child, tentative=inside)

    def _call(self, node: ast.Call, tentative: bool) -> None:
        path = self._path(node.func)
        if path is None or not path.startswith("bpy.ops."):
            return
        idname = path.removeprefix("bpy.ops.")
        module, _, name = idname.partition(".")
        if name and "." not in name:
            self._operator(f"{module.lower()}.{name}", node, tentative)

    def _operator(self, idname: str, node: ast.Call, tentative: bool) -> None:
        self.operators.append(idname)
        self.counts["operators"] += 1
        if idname in self._own_operators:
            return
        operator = self.rna.operators.get(idname)
        if operator is None:
            near = ", ".join(f"bpy.ops.{n}" for n in self.rna.suggest(idname, limit=3))
            version = ".".join(map(str, self.rna.version))
            self._say(
                "operator",
                f"Blender {version} has no operator bpy.ops.{idname}",
                node,
                f"did you mean {near}?" if near else "look it up with inspect_tool",
                tentative,
            )
            return
        if not self.rules.gives_operator(idname):
            self._say(
                "policy", f"bpy.ops.{idname} may not be used", node, self.rules.why_operator(idname), False
            )
            return
        if idname in instead_of():
            self._say("operator", f"bpy.ops.{idname}", node, instead_of()[idname], True)
        for argument in node.args:
            if (
                isinstance(argument, ast.Constant)
                and isinstance(argument.value, str)
                and argument.value not in _CONTEXTS
            ):
                self._say(
                    "operator",
                    f"bpy.ops.{idname}({argument.value!r}) runs at once: a script does not wait for the user",
                    argument,
                    "use 'EXEC_DEFAULT'",
                    True,
                )
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._parameter(idname, operator.parameters, keyword, tentative)

    def _parameter(self, idname: str, known: Any, keyword: ast.keyword, tentative: bool) -> None:
        prop: Property | None = known.get(keyword.arg)
        if prop is None:
            near = difflib.get_close_matches(keyword.arg or "", known, 3, 0.5)
            advice = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(list(known)[:12])}"
            self._say(
                "parameter",
                f"bpy.ops.{idname} has no parameter {keyword.arg!r}",
                keyword.value,
                advice,
                tentative,
            )
            return
        value = keyword.value
        if prop.type != "ENUM" or not prop.items or not isinstance(value, ast.Constant):
            return
        if isinstance(value.value, str) and value.value not in prop.items:
            near = difflib.get_close_matches(value.value, prop.items, 3, 0.4) or list(prop.items[:12])
            message = f"bpy.ops.{idname}({prop.name}={value.value!r}): there is no such choice"
            # Items may depend on the scene: RNA lists those without a scene.
            self._say("value", message, value, f"use one of {', '.join(near)}", True)

    # --- attribute paths --------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, tentative: bool) -> None:
        path = self._path(node)
        if path is None:
            return
        if withheld := self._withheld(path):
            self._say(
                "policy",
                f"{withheld} may not be used",
                node,
                why_blender(withheld),
                self._may_not_run(tentative),
            )
            return
        if not path.startswith("bpy."):
            self._refused(path, node, tentative)
            return
        _, root, *names = path.split(".")
        if root == "ops" and len(names) == 1 and not self.rna.operator_module(names[0].lower()):
            known = sorted({o.partition(".")[0] for o in self.rna.operators})
            self._missing("bpy.ops", names[0], known, node, tentative)
            return
        if root == "types" and names and names[0] not in self.rna.structs and names[0].isidentifier():
            if not any(mark in names[0] for mark in ("_OT_", "_PT_", "_MT_", "_HT_", "_UL_")) and not names[
                0
            ].startswith("bpy_"):
                self._missing("bpy.types", names[0], list(self.rna.structs), node, tentative)
        elif root == "data":
            self._follow("BlendData", "bpy.data", names, node, tentative)
        elif root == "context":
            self._follow("Context", "bpy.context", names, node, tentative)

    def _withheld(self, path: str) -> str | None:
        """Return the part of a path such as `bpy.app.handlers.load_post` that Blender has and scripts do not get."""
        parts = path.split(".")
        heads = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
        return next((head for head in heads if head in self.rna.withheld), None)

    def _builtin(self, node: ast.Call, tentative: bool) -> None:
        """Report a call of a builtin that a script may not call."""
        if isinstance(node.func, ast.Name) and node.func.id == "open" and node.func.id not in self.bound:
            self._say(
                "policy", "open() may not be used", node, why_builtin("open"), self._may_not_run(tentative)
            )

    def _refused(self, path: str, node: ast.AST, tentative: bool) -> None:
        """Report a member of a module of Python's, or of numpy, that a script may not use."""
        reason = why_refused(path, self.rules.level)
        if reason is not None:
            self._say("policy", f"{path} may not be used", node, reason, self._may_not_run(tentative))

    def _may_not_run(self, tentative: bool) -> bool:
        """Return whether this code may never run: it is tentative, or inside a function."""
        return tentative or self._functions > 0

    def _follow(self, struct: str, path: str, names: list[str], node: ast.Attribute, tentative: bool) -> None:
        """Follow the names through RNA as far as types are known."""
        for at, name in enumerate(names):
            is_last = at == len(names) - 1
            if struct == "Context" and self.rna.property(struct, name) is None:
                if name not in self.rna.context and not self.rna.has_member(struct, name):
                    if name in ("copy", "temp_override", "evaluated_depsgraph_get", "path_resolve"):
                        return
                    self._missing(path, name, sorted(self.rna.context), node, tentative)
                    return
                struct = _CONTEXT_TYPES.get(name, "")
            else:
                found = self._member(
                    struct, path, name, node, tentative, store=is_last and isinstance(node.ctx, ast.Store)
                )
                if found is None:
                    return
                struct = found
            path = f"{path}.{name}"
            if not struct:
                return

    def _member(
        self, struct: str, path: str, name: str, node: ast.Attribute, tentative: bool, *, store: bool
    ) -> str | None:
        """Return the struct of the member `name`; "" if it is not known, None if the member is refused or missing."""
        if name in _STRUCT_METHODS:
            return None
        if name not in self.rna.members_below(struct):
            if struct not in ("Context",) and not name.startswith("__") and name != "data":
                self._missing(path, name, self.rna.members(struct), node, tentative)
            return None
        prop = self.rna.property(struct, name)
        if prop is None:
            self._function(struct, path, name, node, tentative)
            return None
        owner = next(s.name for s in self.rna.lineage(struct) if name in s.properties)
        if self.rules.gives_function(
            owner, name
        ):  # a script gets something else instead: a part of the preferences
            return prop.struct if owner == "Context" else None
        if name not in self.rules.readable(owner):
            self._say(
                "policy",
                f"{path}.{name} may not be used",
                node,
                why_property([found.name for found in self.rna.lineage(struct)], name),
                False,
            )
            return None
        if store and name not in self.rules.writable(owner):
            what = "is read-only in Blender" if prop.readonly else "may not be changed by a script"
            self._say("policy", f"{path}.{name} {what}", node, "", False)
            return None
        return prop.collection if prop.type == "COLLECTION" else prop.struct if prop.type == "POINTER" else ""

    def _function(self, struct: str, path: str, name: str, node: ast.Attribute, tentative: bool) -> None:
        """Check a function of a struct, or another member that RNA has no property for."""
        structs = [found.name for found in self.rna.lineage(struct)]
        known = any(
            self.rules.gives_function(each, name) or name in self.rules.readable(each) for each in structs
        )
        if self.rna.has_member(struct, name) and not known:
            why = why_property(structs, name)
            self._say("policy", f"{path}.{name} may not be used", node, why, self._may_not_run(tentative))

    def _missing(self, path: str, name: str, known: list[str], node: ast.AST, tentative: bool) -> None:
        near = difflib.get_close_matches(name, known, 3, 0.6)
        version = ".".join(map(str, self.rna.version))
        advice = f"did you mean {', '.join(near)}?" if near else "look the type up with inspect_tool"
        self._say("path", f"{path} has no member {name!r} in Blender {version}", node, advice, tentative)

    def _path(self, node: ast.AST) -> str | None:
        """Return a path such as `bpy.ops.mesh`, with aliases replaced; None for anything else."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(names)])

    # --- imports and findings ---------------------------------------------------------------------------------

    def _import(self, found: Import) -> None:
        module, member, line, column = found.module, found.member, found.line, found.column
        allowed = self.rules.imports
        errors = self._warnings if (line, column) in self._tentative_imports else self._errors
        withheld = self._withheld(module if member is None else f"{module}.{member}")
        if withheld and self.rules.has_blender:
            target = self._warnings if member is None else errors
            self._add(target, "import", f"{withheld} cannot be used", line, column, why_blender(withheld))
            return
        if module in allowed or (member is not None and f"{module}.{member}" in allowed):
            if member is not None and (reason := why_refused(f"{module}.{member}", self.rules.level)):
                self._add(errors, "import", f"{module}.{member} cannot be imported", line, column, reason)
            return
        reason, advice = why_module(module), import_advice(module, allowed)
        if reason is not None and member is None:
            self._add(self._warnings, "import", f"{module!r} has nothing for scripts", line, column, advice)
            return
        if not self.rules.has_blender and module.partition(".")[0] in ("bpy", "bmesh", "mathutils"):
            advice = f"the level {self.rules.level!r} has no Blender"
        self._add(errors, "import", f"{module!r} cannot be imported", line, column, advice)

    def _say(self, code: str, message: str, node: ast.AST, advice: str, tentative: bool) -> None:
        target = self._warnings if tentative else self._errors
        self._add(
            target, code, message, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, advice
        )

    def _add(
        self, target: list[Finding], code: str, message: str, line: int, column: int, advice: str
    ) -> None:
        source = self.lines[line - 1].strip()[:200] if 0 < line <= len(self.lines) else ""
        target.append(Finding(code, message, line, column, source, advice))


def _own_operators(tree: ast.Module) -> set[str]:
    """Return the idnames of operators that the script's classes define by `bl_idname`."""
    return {
        statement.value.value
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef)
        for statement in each.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        and any(isinstance(target, ast.Name) and target.id == "bl_idname" for target in statement.targets)
    }


#: Methods that every struct has from C.
_STRUCT_METHODS = frozenset(
    """
    keys values items get pop keyframe_insert keyframe_delete driver_add driver_remove path_resolve path_from_id
    is_property_set is_property_hidden is_property_readonly property_unset id_data bl_rna as_pointer
    id_properties_ui id_properties_ensure id_properties_clear foreach_get foreach_set find type_recast
    rna_type temp_override
    """.split()
)


_TENTATIVE = (ast.Try, ast.If, ast.IfExp, ast.BoolOp)


def _is_tentative(node: ast.AST, field_name: str) -> bool:
    match node:
        case ast.Try() | ast.If() | ast.IfExp():
            return field_name in ("body", "orelse", "handlers")
        case ast.BoolOp():
            return True
    return False
