# SPDX-License-Identifier: GPL-3.0-or-later
"""No call in C compares one long text with many, or each character with many, for longer than a moment."""

from __future__ import annotations

import time

import pytest

from support.sandboxing import language

_TEXTS = """
import bisect, collections, functools, heapq, itertools, operator, statistics
half = "a" * 2_000_000
one, other = half + "b" + half, half + "c" + half
row = [one, other] * 20_000
alike = [other] * 200_000
many = "".join(map(chr, range(1_000, 60_000)))
"""
#: Calls that would take minutes to hours.
CALLS = [
    "row.sort()",
    "row.sort(reverse=True)",
    "sorted(row)",
    "sorted(range(len(row)), key=lambda i: row[i])",
    "max(row)",
    "min(*row)",
    "max(row, key=lambda x: x)",
    "heapq.nlargest(3, row)",
    "heapq.nsmallest(3, row)",
    "heapq.heapify(row)",
    "statistics.median_low(row)",
    "statistics.median_high(tuple(row))",
    "one in alike",
    "one not in tuple(alike)",
    "one in collections.deque(alike)",
    "one in {n: other for n in range(200_000)}.values()",
    "one in iter(alike)",
    "operator.contains(alike, one)",
    "alike.count(one)",
    "alike.index(one)",
    "alike.remove(one)",
    "tuple(alike).index(one)",
    "collections.deque(alike).count(one)",
    "one.startswith((other,) * 100_000)",
    "one.endswith((other,) * 100_000)",
    "(half + half).rfind(one[1_000_000:3_000_000])",
    "(half + half).rindex(one[1_000_000:3_000_000])",
    "(half + half).rsplit(one[1_000_000:3_000_000])",
    "(half + half).rsplit(sep=one[1_000_000:3_000_000])",
    "(half + half).rpartition(one[1_000_000:3_000_000])",
    "(chr(999) * 2_000_000).strip(many + chr(999))",
    "(chr(999) * 2_000_000).lstrip(many + chr(999))",
    "(chr(999) * 2_000_000).rstrip(many + chr(999))",
    "str.strip(chr(999) * 2_000_000, many + chr(999))",
    "getattr(half + half, 'rfind')(one[1_000_000:3_000_000])",
    "list(map(str.rfind, [half + half], [one[1_000_000:3_000_000]]))",
]
_BYTES = [each for each in CALLS if each.startswith("(half")]


@pytest.mark.parametrize("call", CALLS)
def test_long_texts_are_not_compared_with_many(call: str) -> None:
    began = time.process_time()
    error = language.refusal(_TEXTS + f"result = {call}", level="math")
    assert "is over the limit of 10,000,000" in str(error)
    assert "a comparison of" in str(error)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("call", _BYTES)
def test_long_bytes_are_not_compared_with_many(call: str) -> None:
    texts = _TEXTS.replace('"a"', 'b"a"').replace('"b"', 'b"b"').replace('"c"', 'b"c"')
    assert "a comparison of" in str(language.refusal(texts + f"result = {call}", level="math"))


@pytest.mark.parametrize("row", ["[b] * 200", "[bytearray(b)] * 200", "[bytes(b), bytearray(b)] * 100"])
@pytest.mark.parametrize("search", ["a in row", "a not in tuple(row)", "row.count(a)", "row.index(a)"])
def test_bytes_are_searched_among_bytes_that_can_change(search: str, row: str) -> None:
    script = f"a, b = bytes(8_000_000), bytes(7_999_999) + b'x'\nrow = {row}\nresult = {search}"
    assert "a comparison of" in str(language.refusal(script, level="math"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("'  x '.strip() + 'xxaxx'.strip('x') + 'ab'.lstrip('a') + 'ab'.rstrip('ba')", "xab"),
        (
            "'a/b/c'.rsplit('/', 1) + 'a b  c'.rsplit() + 'a,b'.rsplit(sep=',', maxsplit=1)",
            ["a/b", "c", "a", "b", "c", "a", "b"],
        ),
        ("('a.b'.rpartition('.'), 'abcb'.rfind('b', 0, 3), 'abc'.rindex('c'))", (("a", ".", "b"), 1, 2)),
        (
            "('abc'.startswith(('x', 'a')), 'abc'.startswith('b', 1), 'abc'.endswith('b', 0, 2))",
            (True, True, True),
        ),
        ("(b'abc'.startswith(b'a'), b' a '.strip(), b'a.b'.rsplit(b'.'))", (True, b"a", [b"a", b"b"])),
        ("('x' * 500 in ['y', 'x' * 500], 'ab' in 'cab', 'n' * 200 in {'n' * 200: 1})", (True, True, True)),
        ("sorted(str(n) * 50 for n in range(3000))[0][:2]", "00"),
    ],
)
def test_ordinary_texts_give_what_python_gives(code: str, expected: object) -> None:
    assert language.run(f"result = {code}", level="math")["result"] == expected
