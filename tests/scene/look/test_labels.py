# SPDX-License-Identifier: GPL-3.0-or-later
"""Names beside what they name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.scene.look import labels, letters
from bl_ext.user_default.mcp_bridge.scene.look.labels import Box

ROOM = Box(0, 0, 300, 200)


def test_a_single_name_stands_above() -> None:
    box = Box(100, 50, 60, 60)
    spot = labels.place({"Cube": box}, ROOM, 2)["Cube"]
    assert spot.shared(box) == 0
    assert 110 <= spot.y <= 115
    assert abs(spot.center[0] - box.center[0]) < 1


def test_names_share_no_place_cover_no_small_object_and_stay_within() -> None:
    boxes = {f"Thing {n}": Box(40 * n + 20, 80 + 7 * (n % 3), 20, 30) for n in range(6)}
    spots = labels.place(boxes, ROOM, 2)
    assert spots.keys() == boxes.keys()
    for one, other in itertools.combinations(spots.values(), 2):
        assert one.shared(other) == 0
    for spot in spots.values():
        assert spot.shared(ROOM) == pytest.approx(spot.area)
        assert sum(spot.shared(box) for box in boxes.values()) == 0


def test_what_fills_the_picture_is_named_too() -> None:
    assert labels.place({"Floor": ROOM}, ROOM, 2).keys() == {"Floor"}


def test_a_name_without_a_place_is_left_out() -> None:
    narrow = Box(0, 0, 40, 15)
    assert labels.place({"Cube": narrow, "Ball": narrow, "A long name": narrow}, narrow, 2).keys() == {"Cube"}


@pytest.mark.parametrize("ground", [0.0, 1.0])
def test_a_name_is_read_on_light_and_on_dark(ground: float) -> None:
    pixels = np.full((200, 300, 4), ground, dtype=np.float32)
    box = Box(100, 50, 60, 60)
    spot = labels.place({"Cube": box}, ROOM, 2)["Cube"]
    labels.write(pixels, "Cube", spot, box, 2)
    y, x = round(spot.y), round(spot.x)
    written = pixels[y : y + round(spot.height), x : x + round(spot.width), :3]
    assert written.max() == 1.0
    assert written.min() < 0.25
    assert (pixels[:y, :, :3] == ground).all()


def test_letters_there_are() -> None:
    assert letters.can_write("Würfel_01.(left)")
    assert not letters.can_write("立方体")
    assert letters.width("AB", 2) == letters.width("äb", 2) == 14
    assert labels.shortened("a" * 30) == "a" * 16 + ".."
