# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.guard import facade


class Point(facade.Facade):
    __slots__ = ("x",)

    def __init__(self, x: float) -> None:
        _set_x(self, x)


_x, _set_x = facade.hide(Point, "x")


def _double(number: int, times: int = 2) -> int:
    return number * times


def _facades() -> list[object]:
    return [Point(3.0), facade.seal(_double), facade.bind(_double, 4)]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    "name", ["x", "new", "__class__", "__doc__", "__reduce_ex__", "__call__", "__self__"]
)
def test_nothing_can_be_set_on_a_facade(number: int, name: str) -> None:
    value = _facades()[number]
    for write in (setattr, object.__setattr__):
        with pytest.raises((AttributeError, TypeError)):
            write(value, name, None)


def test_a_facade_has_no_dict_and_is_not_copied() -> None:
    for value in _facades():
        assert type(value).__dictoffset__ == 0
    with pytest.raises(TypeError, match=r"^cannot copy or pickle 'Point' objects$"):
        copy.copy(Point(1.0))


def test_hidden_slots_are_reached_by_their_reader_alone() -> None:
    point = Point(3.0)
    assert _x(point) == 3.0
    with pytest.raises(AttributeError):
        point.x  # noqa: B018
    with pytest.raises(AttributeError, match="'x' of 'Point' objects cannot be deleted"):
        del point.x


def test_a_sealed_function_is_called_as_before_and_equal_to_itself() -> None:
    assert facade.seal(_double)(2, times=5) == 10
    assert facade.seal(_double) == facade.seal(_double)
    assert hash(facade.seal(_double)) == hash(facade.seal(_double))
    assert facade.unseal(facade.seal(_double)) is _double
    assert facade.seal(len) is len
    assert facade.is_sealed(facade.seal(_double))
    assert not facade.is_sealed([].__len__)


def test_a_sealed_class_keeps_its_attributes() -> None:
    class Error(ValueError, metaclass=facade.Sealed):
        text = "before"

    with pytest.raises(TypeError, match="immutable type 'Error'"):
        Error.text = "after"
    with pytest.raises(TypeError, match="immutable type 'Error'"):
        del Error.text
    assert Error.text == "before"
