# SPDX-License-Identifier: GPL-3.0-or-later
"""C code of the library gets values as they were measured: nothing gives it other ones while it works."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.sandboxing import language

_HEAVY = """
import collections, json, re, string, textwrap, unicodedata
heavy = (1,)
for _ in range(60): heavy = (heavy, heavy)
class Items(dict):
    def items(self): return [("a", heavy)]
    def values(self): return [heavy]
    def keys(self): return ["b"]
class Missing(dict):
    def __missing__(self, key): return heavy
class Getting:
    def __getitem__(self, key): return heavy
class Lines:
    def split(self, sep): return [long] * 1_000
    def expandtabs(self, size): return long
class Rows(list):
    def __iter__(self): return iter(())
long = "x" * 5_000_000
"""
SHOWN = [
    '"%(a)s" % Missing()',
    '"%(a)r" % Missing(b=1)',
    '"%(a)s" % Getting()',
    '"%(a)s" % collections.defaultdict(lambda: heavy)',
    'b"%(a)a" % Getting()',
    '"%(a)s %(b)s" % Getting()',
    '"{a}".format_map(Missing())',
    '"{0[a]}".format(Getting())',
    're.sub("a", lambda match: long, "a" * 1_000)',
    're.compile("a").subn(lambda match: long, "a" * 1_000)',
    'unicodedata.normalize("NFD", chr(0x301) * 200_000 + chr(0x323) * 200_000)',
    'unicodedata.normalize("NFC", chr(0xf73) * 200_000 + chr(0x323) * 200_000)',
    "json.dumps([1], default=None, indent=' ' * 9)",
    "json.dumps({1, 2}, default=lambda value: heavy)",
]


@pytest.mark.parametrize("call", SHOWN)
def test_what_a_script_gives_c_code_late_is_measured(call: str) -> None:
    error = str(language.refusal(_HEAVY + f"result = {call}", level="math"))
    assert any(each in error for each in ("unfolds to more than", "over the limit"))


@pytest.mark.parametrize(
    "call", ["string.capwords(Lines(), ' ')", "textwrap.wrap(Lines())", "textwrap.dedent(Lines())"]
)
def test_what_only_has_the_methods_of_a_text_is_none(call: str) -> None:
    with pytest.raises(TypeError, match="a text is required, not Lines"):
        language.run(_HEAVY + call, level="math")


@pytest.mark.parametrize(
    "value", ["Items(x=1)", "[Items(x=1)]", "Rows([Items(x=1)])", "{'k': (Items(x=1),)}"]
)
@pytest.mark.parametrize("indent", [None, 1])
def test_json_shows_what_a_dict_holds(value: str, indent: int | None) -> None:
    made = language.run(_HEAVY + f"result = json.dumps({value}, indent={indent})", level="math")["result"]
    assert '"x": 1' in made


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, (1, [2])], "b": {"c": "d"}, 3: 4, None: 5, True: 6, 1.5: 7},
        [],
        "text",
        [float("inf")],
    ],
)
def test_json_gives_what_python_gives(value: Any) -> None:
    script = f"import json\ninf = float('inf')\nclass D(dict): pass\nclass L(list): pass\nvalue = {value!r}\n"
    script += "result = [json.dumps(value), json.dumps(L([value])), json.dumps(D(a=value), indent=1)]"
    assert language.run(script, level="math")["result"] == [
        json.dumps(value),
        json.dumps([value]),
        json.dumps({"a": value}, indent=1),
    ]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("json.dumps({1, 2})", TypeError, "Object of type set is not JSON serializable"),
        ("row = Rows()\nrow.append(row)\njson.dumps([row])", ValueError, "Circular reference detected"),
        (
            "class A: pass\njson.dumps(A(), default=lambda value: value)",
            ValueError,
            "Circular reference detected",
        ),
        ("json.dumps({(1, 2): 3})", TypeError, "keys must be str, int, float, bool or None, not tuple"),
    ],
)
def test_json_tells_what_it_does_not_take(code: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        language.run(_HEAVY + code, level="math")


def test_default_may_change_what_is_shown() -> None:
    script = """
import json
class A: pass
def default(value):
    outer.clear()
    return 1
outer = {}
outer["in"] = {"a": A(), "b": [A()]}
result = json.dumps(outer, default=default)
"""
    assert json.loads(language.run(script, level="math")["result"]) == {"in": {"a": 1, "b": [1]}}


_ARRAYS = "import numpy as np, datetime\nfrom mathutils import Vector\n"
#: Values for which numpy has no type, wherever they are beside numbers.
ROWS = [
    "[np.array([3, 5]), [V, V]]",
    "[[np.array(3), V]]",
    "[[V, V], np.array([3, 5])]",
    "[[[3, 5]], [[V, V]]]",
    "[(np.array([3, 5]), np.array([3, 5])), ([V, 1.5], [1.5, V])]",
]


@pytest.mark.parametrize("strange", ["None", "{1}", "{'a': 1}", "datetime.timedelta(1)", "print", "object()"])
@pytest.mark.parametrize("row", ROWS)
def test_numpy_computes_with_no_integers_of_python(row: str, strange: str) -> None:
    row = row.replace("V", strange)
    error = language.refusal(_ARRAYS + f"np.power({row}, 10**8)", level="blender")
    assert "numpy arrays of Python objects or long doubles are not supported" in str(error)


@pytest.mark.parametrize(
    "row",
    [
        "[Vector((1, 2)), (0, 1)]",
        "[Vector((1, 2)), np.zeros(2, int)]",
        "[[1, 2], range(2)]",
        "[np.array([1, 2]), [True, 2.5]]",
    ],
)
def test_rows_of_numbers_of_all_kinds_are_arrays(row: str) -> None:
    assert language.run(_ARRAYS + f"result = np.array({row})", level="blender")["result"].shape == (2, 2)
