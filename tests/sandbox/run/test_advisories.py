# SPDX-License-Identifier: GPL-3.0-or-later
"""A regression case for every published advisory of RestrictedPython, and the ways round a first fix of each."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError

from support.sandboxing.language import run

STACK_FRAMES = [  # CVE-2023-37271: generators lead to frames
    "g = (g.gi_frame.f_back for x in [1])\nnext(g)",
    "g = (getattr(g, 'gi_' + 'frame') for x in [1])\nnext(g)",
    "def f():\n    yield '{0.gi_frame}'.format(g)\ng = f()\nnext(g)",
    "import operator\ng = (x for x in [1])\noperator.attrgetter('gi_frame.f_back')(g)",
    "list(map(getattr, [(x for x in [1])], ['gi_code']))",
]
FORMATS = [  # CVE-2023-41039: format strings walk attributes
    "'{0.__class__.__mro__}'.format(1)",
    "'{x.__globals__}'.format_map({'x': print})",
    "str.format('{0.__self__}', print)",
    "f = 'x'.format\nf = '{0.__init__.__globals__}'.format\nclass A:\n    def __init__(self): pass\nf(A())",
    "list(map('{0.__code__}'.format, [lambda: 0]))",
    "class S:\n    pass\n'{0[__class__.__bases__]}{0.__class__.__base__}'.format(S())",
    "getattr('{0.__globals__}', 'format')(lambda: 0)",
    "'{:{0.__globals__}}'.format(lambda: 0)",
]
ATTRIBUTE_ERROR_OBJ = [  # CVE-2024-47532: exceptions carry objects, and `string` leads on
    "try:\n    'a'.nothing\nexcept AttributeError as e:\n    e.obj",
    "try:\n    (1).nothing\nexcept AttributeError as e:\n    x = getattr(e, 'obj')",
    "import string\nstring._re",
    "import string\nstring.Formatter",
]
EXCEPT_STAR = [  # CVE-2025-22153: except* confuses types in CPython 3.11 to 3.13.1
    "try:\n    pass\nexcept* ValueError as e:\n    pass",
    "ExceptionGroup('', [ValueError()])",
    "BaseExceptionGroup",
]
POSITIONAL_ONLY = [  # CVE-2026-55830: positional-only parameters shadowed hooks
    "def f(_getattr_=0, /): return a.b",
    "def f(_getitem_, /): pass",
    "(lambda _write_, /: 0)(1)",
    "def f(x, _print_=1, /, *, y): pass",
    "class A:\n    def f(self, _getattr_, /): pass",
]
FORMATTER = [  # CVE-2026-76825: string.Formatter resolves fields to live objects
    "import string\nstring.Formatter().get_field('0.__globals__', (print,), {})",
    "from string import Formatter",
    "from string import Template",
    "import string as s\ngetattr(s, 'Form' + 'atter')",
]


@pytest.mark.parametrize(
    "source", [*STACK_FRAMES, *FORMATS, *ATTRIBUTE_ERROR_OBJ, *EXCEPT_STAR, *POSITIONAL_ONLY, *FORMATTER]
)
def test_an_advisory_stays_closed(source: str) -> None:
    with pytest.raises((PolicyError, AttributeError, TypeError, ValueError)):
        run(source)
