# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes random scripts from a grammar of what a script may say, to find what no table contains.

`<name>` in a rule stands for one of the texts under that name. Members of Blender's structs and functions of modules
come from the sandbox's own lists, so that a new one is tried as soon as it is allowed.
"""

from __future__ import annotations

import json
import random
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Final

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.facts import policy as rules
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import ScriptRefused, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.language.names import CLASS_DUNDERS
from bl_ext.user_default.mcp_bridge.sandbox.stdlib.views import PLAIN_MEMBERS

__all__ = ("RULES", "script")

_HELD: Final[dict[str, str]] = {
    "OB": "Object",
    "OB.data": "Mesh",
    "OB.data.vertices[0]": "MeshVertex",
    "OB.data.attributes": "AttributeGroupMesh",
    "OB.data.shape_keys": "Key",
    "OB.modifiers": "ObjectModifiers",
    "OB.modifiers[0]": "ArrayModifier",
    "OB.constraints[0]": "CopyLocationConstraint",
    "OB.vertex_groups": "VertexGroups",
    "OB.animation_data": "AnimData",
    "SCENE": "Scene",
    "SCENE.world": "World",
    "SCENE.collection": "Collection",
    "bpy.context.view_layer": "ViewLayer",
    "bpy.context.evaluated_depsgraph_get()": "Depsgraph",
    "MAT": "Material",
    "MAT.node_tree": "ShaderNodeTree",
    "MAT.node_tree.nodes": "Nodes",
    "MAT.node_tree.nodes[0]": "Node",
    "ACTION": "Action",
    "LIGHT": "SpotLight",
    "CAMERA": "Camera",
    "CURVE": "Curve",
    "CURVE.splines[0]": "Spline",
    "ARM": "Armature",
    "TEXT": "Text",
    "IMAGE": "Image",
    "bpy.data": "BlendData",
    "bpy.context": "Context",
}
"""What scripts read of Blender, and the struct of each."""

RULES: Final[dict[str, tuple[str, ...]]] = {
    "statement": (
        "<v> = <e>",
        "<v>.<member> = <e>",
        "<v>[<e>] = <e>",
        "<v>[<e>:<e>:<e>] = <e>",
        "<v>.<member> <augmented> <e>",
        "<v>[<e>] <augmented> <e>",
        "<v> <augmented> <e>",
        "del <v>[<e>]",
        "<v>, *<v> = <e>",
        "[<v>, (<v>, <v>)] = <e>, (<e>, <e>)",
        "if <e>: <simple>\nelse: <simple>",
        "for <v> in <e>: <simple>",
        "for <v>.<member> in <e>: <simple>",
        "for <v>, <v> in zip(<e>, <e>):\n    <simple>\n    if <e>: break\nelse: <simple>",
        "while <e>:\n    <simple>\n    if <e>: break",
        "try: <simple>\nexcept <error> as <v>: <simple>\nelse: <simple>\nfinally: <simple>",
        "with <e> as <v>: <simple>",
        "with contextlib.suppress(<error>): <simple>",
        "match <e>:\n    case <pattern>: <simple>\n    case <pattern> if <e>: <simple>\n    case _: <simple>",
        "def <f>(<v>=<e>, *<v2>, **<v3>):\n    <simple>\n    return <e>",
        "def <f>(*<v2>):\n    <simple>\n    yield <e>\n    yield from <e>",
        "def <f>(*<v2>):\n    global <v>\n    <v> = <e>\n    return lambda *<v3>: <e>",
        "def <f>(*<v2>):\n    try: yield <e>\n    finally: <simple>",
        "class <K>(<base>):\n    def <dunder>(self, *<v2>):\n        <simple>\n        return <e>",
        "class <K>(<base>):\n    <dunder> = <e>\n    def <dunder>(self, *<v2>): return <e>",
        "class <K>(<base>):\n    @<decorator>\n    def <member>(self, *<v2>): return <e>",
        "class <K>(<base>):\n    __slots__ = <e>\n    <v> = <e>",
        "@<decorator>\ndef <f>(*<v2>): return <e>",
        "@dataclasses.dataclass\nclass <K>:\n    a: object = <e>\n    b: <e> = <e>",
        "assert <e>, <e>",
        "raise <error>(<e>) from <e>",
        "print(<e>, sep=<e>, end=<e>)",
        "<simple>",
        "<blender>",
        "<blender>\n<blender>\n<v> = <read>",
    ),
    "simple": ("<v> = <e>", "<e>", "pass", "<v>.<member> = <e>", "<v>[<e>] = <e>", "<v>.append(<e>)", "<blender>"),
    "blender": (
        "<written> = <e>",
        "<written> = <read>",
        "<v> = <read>",
        "<v> = <read>.<property>",
        "<v> = <method>(<e>)",
        "<method>(<e>, <e>)",
        "<method>()",
        "<read>.new(<e>)",
        "<read>.new(<e>, <e>)",
        "<read>.remove(<e>)",
        "<read>.clear()",
        "<v> = <read>[<e>]",
        "<read>[<e>] = <e>",
        "bpy.ops.<operator>()",
        "bpy.ops.<operator>()",
        "<v> = list(<read>)",
        "bpy.ops.object.mode_set(mode='EDIT')",
        "bpy.ops.object.mode_set(mode='OBJECT')",
        "bpy.data.objects.remove(<held>)",
        "bpy.context.view_layer.update()",
    ),
    "held": tuple(_HELD),
    "e": (
        "<v>", "<v>", "<number>", "<text>", "<held>", "<v>.<member>", "<v>[<e>]", "<v>[<e>:<e>]",
        "(<e> <operator2> <e>)",
        "<v>(<e>)", "<v>(*<e>, **<e>)", "<call>(<e>)", "<call>(<e>, <e>)", "<call>(<e>, <e>, <e>)",
        "[<e>, <e>]",
        "(<e>, <e>)", "{<e>: <e>}", "{<e>, <e>}", "[<e> for <v> in <e>]", "{<v>: <e> for <v> in <e> if <e>}",
        "(<e> for <v> in <e>)", "(lambda *<v2>: <e>)", "(<e> if <e> else <e>)", "(w := <e>)",
        "f'{<v>!r:{<v>}} {<v>}'",
        "(not <e>)", "(-<v>)", "(<e> < <e> <= <e>)", "(<e> in <e>)", "(<e> is <e>)",
        "getattr(<v>, <text>, <e>)", "type(<v>)",
        "<K>(<e>)", "<f>(<e>)", "<read>", "iter(<e>)", "next(<e>, <e>)", "isinstance(<e>, <K>)", "b'ab'",
        "<text>.format(<e>, <e>)", "(<text> % (<e>,))", "super(<K>, <v>)", "<error>(<e>)", "(*<e>, *<e>)",
        "{**<e>}",
        "mathutils.Vector((1, 2, 3))", "mathutils.Matrix()", "numpy.arange(6.0)",
        "types.SimpleNamespace(**<e>)",
    ),
    "pattern": (
        "<K>(a=<v2>)", "[<v2>, *<v3>]", "{'a': <v2>, **<v3>}", "<number>", "<text>", "str() | list()",
        "int(<v2>)",
        "(<v2>, <v3>)", "<K>()", "None",
    ),
    "error": (
        "Exception", "ValueError", "(TypeError, KeyError)", "<v>", "StopIteration", "AttributeError",
        "RecursionError",
        "MemoryError",
    ),
    "base": (
        "object", "list", "dict", "Exception", "<K>", "enum.Enum", "enum.IntFlag",
        "abc.ABC", "collections.OrderedDict", "set", "typing.NamedTuple", "<v>",
    ),
    "decorator": (
        "property", "staticmethod", "classmethod", "functools.cache", "functools.lru_cache(maxsize=2)",
        "functools.wraps(<v>)", "contextlib.contextmanager", "<f>", "functools.total_ordering",
        "functools.cached_property", "functools.partial(<v>)",
    ),
    "augmented": ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "<<=", "|=", "&=", "@="),
    "operator2": ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "|", "&", "@", "==", "!=", "and", "or"),
    "number": (
        "0", "1", "2", "-1", "3.5", "10**9", "2**63", "float('nan')", "float('inf')", "True", "None",
        "1e300", "1j",
    ),
    "text": (
        "''", "'a'", "'location'", "'X'", "'{0}'", "'%s'", "'Cube'", "'\\ud800'", "('x' * 70)", "'é'",
        "'a.b'", "'\\0'",
    ),
    "v": ("a", "b", "c", "d"),
    "v2": ("p",),
    "v3": ("q",),
    "f": ("f", "g"),
    "K": ("K", "L"),
}  # fmt: skip
"""What each name may stand for, besides those of `_lists`."""

_PRELUDE: Final = """
SCENE, OB = bpy.context.scene, bpy.context.object
BM = bmesh.new()
bmesh.ops.create_cube(BM)
MAT = bpy.data.materials.new("m")
MAT.use_nodes = True
OB.data.materials.append(MAT)
OB.modifiers.new("a", "ARRAY")
OB.constraints.new("COPY_LOCATION")
OB.vertex_groups.new(name="a").add([0, 1], 1.0, "REPLACE")
OB.shape_key_add(name="a")
OB.keyframe_insert("location")
ACTION, TEXT, IMAGE = OB.animation_data.action, bpy.data.texts.new("t"), bpy.data.images.new("i", 4, 4)
LIGHT, CAMERA = bpy.data.lights.new("l", "SPOT"), bpy.data.cameras.new("c")
CURVE = bpy.data.curves.new("c", "CURVE")
CURVE.splines.new("BEZIER")
ARM = bpy.data.armatures.new("a")
a, b, c, d = [1.0, 2.0], {"a": 1, "b": [2]}, OB, (1, 2.5, "x")
def f(*p): return p
def g(*p):
    yield from p
class K:
    def __init__(self, *p): self.a = p
class L(list): pass
"""
_DEEP: Final = 4
_STATEMENTS: Final = 12
_TRIES: Final = 8
_STRIPPED: Final = re.compile(r"<([A-Za-z]\w*)>")


def _listed(name: str) -> tuple[str, ...]:
    """Return the members that an allow-list has for the structs in `_HELD` and their bases, as expressions."""
    path = Path(rules.__file__).parent / "allowlists" / f"{name}.json"
    lists: dict[str, str] = json.loads(path.read_text("utf-8"))
    return tuple(
        f"{held}.{member}"
        for held, struct in _HELD.items()
        for kind in getattr(getattr(bpy.types, struct, None), "__mro__", ())  # not in each Blender
        for member in lists.get(kind.__name__, "").split()
    )


@cache
def _lists() -> dict[str, tuple[str, ...]]:
    """Return the rules that come from the sandbox's own lists."""
    operators = tuple(sorted(rules.policy("blender").operators))
    read = _listed("properties_read")
    calls = [f"{module}.{name}" for module, names in PLAIN_MEMBERS.items() for name in names.split()]
    calls += _CALLS.split()
    members = "append x co name data keys items values clear pop extend sort update add remove a args real copy join"
    return {
        "operator": operators,
        "method": _listed("functions"),
        "read": read,
        "written": _listed("properties_write"),
        "property": tuple(name.rpartition(".")[2] for name in read),
        "call": tuple(name for name in calls if not name.startswith("time.")),
        "dunder": tuple(sorted(CLASS_DUNDERS)),
        "member": (*members.split(), "__class__", "__name__", "__doc__"),
    }


_CALLS: Final = """
len list dict set tuple str repr sorted sum min max abs round map filter zip enumerate reversed range bytes bytearray
hash id type iter next any all print divmod pow chr ord format int float frozenset callable getattr hasattr setattr
functools.partial functools.reduce itertools.chain itertools.cycle itertools.product itertools.groupby itertools.tee
itertools.accumulate collections.Counter collections.deque collections.defaultdict collections.namedtuple copy.copy
copy.deepcopy operator.attrgetter operator.itemgetter operator.methodcaller dataclasses.make_dataclass
dataclasses.asdict
json.dumps json.loads re.sub re.compile struct.pack struct.unpack statistics.mean fractions.Fraction heapq.merge
enum.Enum types.SimpleNamespace contextlib.suppress contextlib.ExitStack string.Template random.choice random.sample
mathutils.Vector mathutils.Matrix mathutils.Euler mathutils.Quaternion mathutils.Color mathutils.noise.noise
mathutils.geometry.tessellate_polygon mathutils.geometry.interpolate_bezier mathutils.kdtree.KDTree
mathutils.bvhtree.BVHTree.FromPolygons mathutils.bvhtree.BVHTree.FromBMesh bmesh.ops.subdivide_edges bmesh.ops.delete
bmesh.ops.bevel bmesh.from_edit_mesh BM.to_mesh BM.from_mesh BM.verts.new BM.faces.new BM.edges.new BM.verts.remove
numpy.array numpy.zeros numpy.full numpy.dot numpy.where numpy.concatenate numpy.reshape numpy.sum numpy.vectorize
numpy.frombuffer numpy.fromiter numpy.einsum numpy.linalg.inv numpy.take numpy.lib.stride_tricks.as_strided
OB.data.vertices.foreach_set OB.data.vertices.foreach_get OB.keyframe_insert OB.driver_add OB.path_resolve
bpy.data.objects.new bpy.data.meshes.new bpy.data.meshes.remove bpy.data.node_groups.new
"""


def script(chance: random.Random, turn: int) -> tuple[str, tuple[str, ...]]:
    """Make a script; return it and its statements. Script `turn` has that statement of the rules."""
    statements = RULES["statement"]
    picked = (statements[turn % len(statements)], *chance.choices(statements, k=_STATEMENTS))
    code = []
    for each in picked:
        for _ in range(_TRIES):
            made = textwrap.indent(_expand(each, chance, _DEEP), "    ")
            code.append(f"try:\n{made}\nexcept Exception as e: pass\n")
            if _is_accepted(code[-1]):
                break
            code.pop()
    return _PRELUDE + "".join(code), picked


def _is_accepted(code: str) -> bool:
    """Return whether the sandbox's language allows such a statement."""
    try:
        compile_script(code)
    except ScriptRefused:
        return False
    return True


def _expand(text: str, chance: random.Random, depth: int) -> str:
    """Replace each `<name>`; at the greatest depth, use a variable for an expression."""

    def chosen(match: re.Match[str]) -> str:
        name = match[1]
        if name == "e" and depth <= 0:
            name = "v"
        choices = RULES.get(name) or _lists()[name]
        return _expand(chance.choice(choices), chance, depth - 1)

    return _STRIPPED.sub(chosen, text)
