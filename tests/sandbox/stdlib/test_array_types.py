# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of numpy's that no name gives a script: Python objects, and long doubles, with which numpy 1 crashes."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.sandbox.stdlib.array_arguments import unsupported

from support.running import fork
from support.sandboxing.scripts import result

_NAMES = sorted(name for name in {*np.sctypeDict, *"gGO"} - {"a"} if isinstance(name, str))
"""All names by which numpy knows types, but "a", which it warns of."""
_REFUSED = [name for name in _NAMES if unsupported(np.dtype(name))]
_WAYS = (
    "np.zeros(3, {0!r})",
    "np.ones(3, dtype={0!r})",
    "np.ones(3).astype({0!r})",
    "np.dtype({0!r})",
    "np.dtype('f8,' + {0!r})",
    "np.dtype('3' + {0!r})",
    "np.dtype([('a', 'f8'), ('b', [('c', {0!r})])])",
    "np.dtype({{'names': ['a'], 'formats': [{0!r}]}})",
    "np.zeros(2, [('a', {0!r})]).tolist()",
    "np.zeros(2, [('a', {0!r}, 3)])['a']",
    "np.frombuffer(bytes(64), {0!r})",
    "np.fromiter([1.0], {0!r})",
    "np.add(1.0, 2.0, dtype={0!r})",
    "np.bitwise_and(None, 1, dtype={0!r})",
    "np.sum([1.0], dtype={0!r})",
    "np.ones(3).sum(0, {0!r})",
    "np.full(3, 1.0, {0!r})",
    "np.fromfunction(lambda i: i, (3,), dtype={0!r})",
)


@pytest.fixture(autouse=True)
def _any_number_of_runs() -> None:
    execute._rate.clear()


@pytest.mark.parametrize("way", _WAYS)
def test_no_name_of_such_a_type_gives_a_script_a_value_of_it(way: str) -> None:
    assert {"g", "G", "O", "longdouble", "object"} <= set(_REFUSED)
    for name in _REFUSED:
        # numpy itself reads no number before some names, as in "3longdouble".
        with pytest.raises(
            Exception, match=r"long doubles are not supported|is not recognized|not understood"
        ):
            result("import numpy as np\nresult = str(" + way.format(name) + ")")


def test_types_of_numbers_are_made() -> None:
    numbers = {
        name: str(np.dtype(name))
        for name in _NAMES
        if name not in _REFUSED and np.dtype(name).kind in "biufc"
    }
    made = result(
        f"import numpy as np\nresult = {{name: str(np.ones(1, name).dtype) for name in {[*numbers]}}}"
    )
    assert made == numbers


def _compute(code: str) -> str:
    with contextlib.suppress(TypeError):
        np.bitwise_and(None, np.ones(3, code))
    return "whole"


def test_in_plain_numpy_1_the_bits_of_a_long_double_and_an_object_crash() -> None:
    ends = [str(end) for end in fork.run_each(_compute, ["d", "g", "G"])]
    crash = "the forked Blender died by SIGSEGV"
    assert ends == ["whole"] + ([crash, crash] if np.__version__ < "2" else ["whole", "whole"])
