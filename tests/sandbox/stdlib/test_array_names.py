# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public function of numpy is listed or refused with a reason; random states are as in numpy."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.stdlib import arrays

from support.attack.oracles import Judge
from support.running import fork
from support.sandboxing.language import run

_LISTS = json.loads(
    (Path(arrays.__file__).parent.parent / "facts" / "numpy.json").read_text(encoding="utf-8")
)


def listed(section: str) -> set[str]:
    return set(_LISTS[section].split())


def functions(module: Any) -> set[str]:
    """The public functions of a module, by name; what warns when it is read is on its way out."""
    found = set()
    for name in dir(module):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(module, name, None)
        if not name.startswith("_") and callable(value) and not isinstance(value, type | types.ModuleType):
            found.add(name)
    return found


def test_each_function_is_listed_or_refused() -> None:
    refused = {name for names in _LISTS["refused"].values() for name in names.split()}
    assert functions(np) <= listed("functions") | listed("made") | refused
    assert functions(np.linalg) - {"test"} <= listed("linalg")
    assert functions(np.fft) - {"test"} <= listed("fft")
    known = listed("random_refused_names") | {"test", "default_rng"}
    assert functions(np.random) <= listed("random") | known | {"get_state", "set_state", "seed"}
    assert functions(np.random.default_rng(0)) <= listed("generator") | known
    assert len(functions(np)) > 300


def test_nothing_is_both_listed_and_refused() -> None:
    refused = [name for names in _LISTS["refused"].values() for name in names.split()]
    assert len(refused) == len(set(refused))
    assert not set(refused) & (listed("functions") | listed("made"))


def blender(source: str) -> Any:
    from bl_ext.user_default.mcp_bridge.sandbox.run import execute

    execute._rate.clear()
    return execute.execute_blender_code({"code": source})


SAME = {
    "random states": """
import numpy as np
np.random.seed(5)
state = np.random.get_state()
first = [np.random.normal(), np.random.rand(3).tolist(), np.random.randint(10)]
np.random.set_state(state)
print(first == [np.random.normal(), np.random.rand(3).tolist(), np.random.randint(10)], state[0], len(state[1]))
one = np.random.RandomState(7)
two = np.random.RandomState(np.int64(7))
print(one.uniform(0, 1, 3).tolist(), two.rand(3).tolist(), one.permutation(5).tolist(), one.choice([1, 2, 3]))
rng = np.random.default_rng(np.int32(3))
print(rng.integers(0, 10, 4).tolist(), np.random.default_rng([1, 2]).random(), np.random.default_rng(rng) is rng)
""",
    "arrays": """
import numpy as np
print(np.block([[np.eye(2), np.zeros((2, 1))]]).tolist(), [part.tolist() for part in np.array_split(np.arange(5), 2)])
print(np.True_, np.False_, np.isscalar(3), np.einsum('ij,j->i', np.eye(2), np.array([1, 2])).tolist())
print(np.c_[np.array([1, 2]), np.array([3, 4])].tolist(), np.r_[1:4, 9].tolist(), np.finfo(np.float32).eps)
print(np.frombuffer(b'\\x01\\x02', dtype=np.uint8).tolist(), np.fromfunction(lambda i, j: i + j, (2, 2)).tolist())
print(np.linalg.cholesky(np.eye(2)).tolist(), np.fft.fft([1.0, 0.0]).tolist(), np.nanmedian([1.0, np.nan]))
with np.errstate(divide='ignore'):
    print(np.iinfo(np.int16).max)
print(np.unwrap([0.0, 7.0]).round(3).tolist(), np.lexsort(([1, 0], [0, 0])).tolist(), np.float16(1.5), np.int_(3))
""",
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_in_numpy(name: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(SAME[name], "<plain>", "exec"), {})
    assert blender(SAME[name])["stdout"] == out.getvalue()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("np.fromfile('x')", "no files"),
        ("np.save('x', 1)", "no files"),
        ("np.frompyfunc(abs, 1, 1)", "write a loop"),
        ("np.array2string(1)", "f-string"),
        ("np.random.zipf(1.0000001)", "another distribution|reviewed names"),
        ("np.frombuffer(bytearray(3))", "takes bytes"),
        ("np.prod(np.arange(3), None, 'O')", "Python objects"),
        ("np.zeros(3).astype('i4,O')", "Python objects"),
        ("np.sum([1, 2], None, 'object')", "Python objects"),
        ("np.random.set_state(('MT19937', np.zeros(624, 'uint32'), 10 ** 6))", "get_state"),
        ("np.random.set_state(('MT19937', np.zeros(3, 'uint32'), 0))", "get_state"),
        ("np.random.set_state(('MT19937', np.zeros(624, 'uint32'), -1))", "get_state"),
        ("np.c_['1,2', 3]", "slices"),
        ("np.r_['r', [1], [2]]", "slices"),
    ],
)
def test_what_is_refused_says_why(source: str, said: str) -> None:
    with pytest.raises(BridgeError, match=said):
        blender(f"import numpy as np\n{source}")


def test_a_seed_changes_nothing_for_the_host() -> None:
    before = np.random.get_state()[1].tolist()
    blender("import numpy as np\nnp.random.seed(1)\nnp.random.rand(3)")
    assert np.random.get_state()[1].tolist() == before


def test_the_level_without_blender_has_no_numpy() -> None:
    with pytest.raises(BridgeError, match="numpy"):
        run("import numpy")


def _refusal_of_late(name: str) -> str:
    """What a script is told that reads a part of numpy which nobody has loaded yet."""
    for loaded in [each for each in sys.modules if f"{each}.".startswith(f"numpy.{name}.")]:
        del sys.modules[loaded]
    part = vars(np).pop(name, None)
    if name not in dir(np):  # numpy 1 loads this part with itself
        setattr(np, name, part)
    try:
        blender(f"import numpy\nresult = numpy.{name}")
    except BridgeError as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", ["rec", "ma", "polynomial", "testing"])
def test_part_that_numpy_loads_late_is_refused_and_not_loaded(name: str) -> None:
    """Were it loaded to see whether it is there, the audit wall would take that for a break-out."""
    assert name in dir(np)
    said = fork.run(_refusal_of_late, name)
    assert said.startswith(f"PolicyError: numpy.{name} is not available to scripts: ")


@pytest.mark.parametrize("kind", ["'M8[s]'", "'m8[s]'", "[('a', 'f8')]", "'V4'"])
def test_items_of_each_type_are_values_that_a_script_may_hold(kind: str) -> None:
    """A reviewed type, so that the world of values is closed; what such a value may be asked for is another matter."""
    with Judge() as judge:
        verdict = judge.verdict(f"import numpy\nx = numpy.zeros(2, dtype={kind})[0]")
    assert verdict.outcome == "accepted", verdict
