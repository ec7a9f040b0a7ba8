# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import io
import os
import threading

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement.streams import Answers, Tail


def test_a_tail_keeps_the_end_and_nothing_that_a_terminal_would_obey() -> None:
    tail = Tail(keep=9)
    tail.follow(io.BufferedReader(io.BytesIO(b"beginning\x1b[2Jend\n\xff")))
    assert tail.text() == "[2Jend\n\ufffd"


def test_answers_come_line_by_line_and_end_with_none() -> None:
    answers = Answers(flooded=pytest.fail)
    answers.follow(io.BufferedReader(io.BytesIO(b"one\ntwo\ncut")))
    assert [answers.next(1.0) for _ in range(5)] == [b"one\n", b"two\n", b"cut", None, None]


@pytest.mark.parametrize("data", [b"x" * 11, b"1\n2\n3\n4\n", b"1234567\n12\n"], ids=["long", "many", "much"])
def test_a_flood_is_told_once_and_not_read_on(data: bytes) -> None:
    floods: list[bool] = []
    pipe = io.BufferedReader(io.BytesIO(data + b"rest\n" * 100))
    answers = Answers(lambda: floods.append(True), longest=10, most=3)
    answers.follow(pipe)
    assert floods == [True]
    assert pipe.closed


def test_what_was_fetched_does_not_count() -> None:
    answers = Answers(flooded=pytest.fail, longest=10)
    reading, writing = os.pipe()
    thread = threading.Thread(target=answers.follow, args=(os.fdopen(reading, "rb"),))
    thread.start()
    for _ in range(3):
        os.write(writing, b"1234567\n")
        assert answers.next(10.0) == b"1234567\n"
    os.close(writing)
    thread.join()
    assert answers.next(10.0) is None


def test_waiting_for_an_answer_has_an_end() -> None:
    with pytest.raises(TimeoutError):
        Answers(flooded=pytest.fail).next(0.01)
