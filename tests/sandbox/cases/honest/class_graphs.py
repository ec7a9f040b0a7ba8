# Things that know one another, as trees and graphs do; annotations that are texts.
from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, NamedTuple

import bpy


class Part:
    def __init__(self, name, parent=None):
        self.name, self.parent, self.parts = name, parent, []
        if parent is not None:
            parent.parts.append(self)


@dataclass
class Joint:
    made: ClassVar[int] = 0
    name: str
    size: float = 1.0
    child: Joint | None = None
    parent: Joint | None = field(default=None, repr=False)

    def __post_init__(self):
        Joint.made += 1


class Step(NamedTuple):
    joint: Joint
    after: Step | None = None


class Side(Enum):
    LEFT = ("L", -1.0)
    RIGHT = ("R", 1.0)

    def __init__(self, suffix, sign):
        self.suffix, self.sign = suffix, sign


root = Part("root")
arm, leg = Part("arm", root), Part("leg", root)
hand = Part("hand", arm)
assert root == hand.parent.parent and arm != leg and hand in arm.parts and {arm: 1}[arm] == 1
assert str(root).startswith("<") and [part.name for part in sorted(root.parts, key=lambda part: part.name)] == ["arm", "leg"]

upper = Joint("upper", 2.0)
upper.child = Joint("lower", parent=upper)
assert repr(upper) == "Joint(name='upper', size=2.0, child=Joint(name='lower', size=1.0, child=None))"
assert [each.name for each in dataclasses.fields(Joint)] == ["name", "size", "child", "parent"] and Joint.made == 2
assert Step(upper).after is None and {Side.LEFT: 1}[Side.LEFT] == 1 and Side(("R", 1.0)).suffix == "R"
assert repr(Side.LEFT) == "<Side.LEFT: ('L', -1.0)>"
zone = datetime.timezone(datetime.timedelta(hours=2), "CEST")
assert datetime.datetime(2026, 7, 1, tzinfo=zone).tzname() == "CEST" and isinstance(zone, datetime.timezone)
assert datetime.timezone.utc.utcoffset(None) == datetime.timedelta(0)

for part in (root, arm, leg, hand):
    made = bpy.data.objects.new(part.name, None)
    bpy.context.collection.objects.link(made)
    if part.parent is not None:
        made.parent = bpy.data.objects[part.parent.name]
# check: bpy.data.objects["hand"].parent.parent == bpy.data.objects["root"]
