# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON is read strictly and written in one line."""

from __future__ import annotations

import json
import time

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages import wire
from hypothesis import given
from hypothesis import strategies as st

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES)
def test_a_value_is_the_same_after_encoding_and_decoding(value: object) -> None:
    text = wire.encode(value)
    assert "\n" not in text
    assert wire.decode(text) == value


@given(st.text())
def test_no_text_raises_anything_but_a_wire_error(text: str) -> None:
    try:
        value = wire.decode(text)
    except wire.WireError:
        return
    assert value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"b": {"a": 1, "a": 1}}', "duplicate key 'a'"),
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e999]", "number 1e999 is out of range"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ("[" * 200_000, "nested deeper than 100 levels"),
        ('{"a"', "not JSON"),
        ("", "not JSON"),
        ("1" * 5000, "not JSON"),
        (r'"\ud800"', r"\\ud800 is half a pair of UTF-16 and no character"),
        (r'{"a": ["x\uDFFF"]}', r"\\udfff is half a pair"),
        (r'{"\ud83d": 1}', r"\\ud83d is half a pair"),
        (r'"\ude00\ud83d"', r"\\ude00 is half a pair"),
        (r'"\ud83d\u0020\ude00"', r"\\ud83d is half a pair"),
    ],
)
def test_refused_json_names_the_reason(text: str, why: str) -> None:
    with pytest.raises(wire.WireError, match=why):
        wire.decode(text)


def test_a_whole_pair_and_a_text_about_one_are_read() -> None:
    assert wire.decode(r'["\ud83d\ude00", "\\ud800", "\\\ud83d\ude00"]') == [
        chr(0x1F600),
        r"\ud800",
        chr(92) + chr(0x1F600),
    ]


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
)
def test_what_any_text_is_encoded_to_has_a_form_in_utf_8(value: object) -> None:
    halved = json.loads(json.dumps(value).replace("\\ud8", "\\udf"))  # no pair is left whole
    assert wire.decode_bytes(wire.encode(halved).encode()) is not None


def test_half_a_pair_becomes_the_replacement_character() -> None:
    assert wire.encode({"a\udc80": "\ud800b\ud83d\ude00"}) == '{"a\ufffd":"\ufffdb\U0001f600"}'


def test_bytes_must_be_utf_8() -> None:
    assert wire.decode_bytes('"ü"'.encode()) == "ü"
    with pytest.raises(wire.WireError, match="not UTF-8"):
        wire.decode_bytes('"ü"'.encode("utf-16"))


def test_numbers_without_a_form_become_null() -> None:
    assert wire.encode({"a": [float("nan"), float("inf"), 1.5, (1, 2)]}) == '{"a":[null,null,1.5,[1,2]]}'


def test_values_that_are_not_json_cannot_be_encoded() -> None:
    with pytest.raises(TypeError):
        wire.encode({"a": object()})


def test_cost_is_linear_in_size() -> None:
    def cost(items: int) -> float:
        text = json.dumps([{"name": f"Cube.{n}", "location": [n, 0.5, 1.0]} for n in range(items)])
        best = float("inf")
        for _ in range(3):
            begin = time.thread_time()
            wire.encode(wire.decode(text))
            best = min(best, time.thread_time() - begin)
        return best

    assert cost(40_000) < 12 * cost(10_000)  # four times the size; quadratic would be sixteen


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.dictionaries(st.text(), _VALUES, max_size=4))
def test_a_message_with_encoded_content_is_the_same_message(structured: dict, rest: dict) -> None:
    known = wire.Encoded(structured, wire.encode(structured))
    rest.pop("structuredContent", None)
    plain = {"jsonrpc": "2.0", "id": 1, "result": {**rest, "structuredContent": structured}}
    for message in (
        {**plain, "result": {**rest, "structuredContent": known}},
        {"result": {"structuredContent": known, **rest}, "id": 1, "jsonrpc": "2.0"},
    ):
        assert wire.decode(wire.encode_message(message)) == plain
        assert wire.decode(wire.encode(message)) == plain, (
            "where nobody knows of its text, it is a dict as any"
        )
    assert wire.encode_message(plain) == wire.encode(plain)


_LONG_TEXTS = st.builds(
    lambda begin, times, end: begin + "iVBORw0KGgo=" * times + end,
    st.text(max_size=3),
    st.sampled_from([0, wire._LONG // 12, wire._LONG // 12 + 1, wire._LONG]),
    st.one_of(st.text(max_size=3), st.sampled_from(['"', "\\", "\x00", "\x1f", "\x7f", "\n", "é", "\ud800"])),
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["text", "data", "blob"]), _LONG_TEXTS), max_size=3),
    st.booleans(),
)
def test_a_message_with_long_texts_is_the_same_text(blocks: list, contents: bool) -> None:
    nested = [*blocks, {"type": "resource", "resource": {"blob": "A" * 20_000}}]
    content = {"contents": blocks} if contents else {"content": nested, "isError": False}
    message = {"jsonrpc": "2.0", "id": 1, "result": {**content, "x": "B" * 20_000}}
    assert wire.encode_message(message) == wire.encode(message)


def test_a_value_that_contains_itself_is_an_error_and_the_next_value_is_none() -> None:
    value: dict = {"a": [1]}
    value["a"].append(value)
    for _ in range(2):
        with pytest.raises(RecursionError):
            wire.encode(value)
    assert wire.encode({"a": [1, {}]}) == '{"a":[1,{}]}'


@pytest.mark.parametrize("levels", [wire.MAX_DEPTH, wire.MAX_DEPTH + 1])
@pytest.mark.parametrize("form", ["[%s]", '{"a":%s}', '[{"a":%s},[]]'])
def test_depth_is_counted_in_levels(levels: int, form: str) -> None:
    per_form = 2 if form.startswith("[{") else 1
    text = "1"
    for _ in range(levels // per_form):
        text = form % text
    if levels % per_form:
        text = f"[{text}]"
    if levels > wire.MAX_DEPTH:
        with pytest.raises(wire.WireError, match="nested deeper"):
            wire.decode(text)
    else:
        assert wire.encode(wire.decode(text)) == text
