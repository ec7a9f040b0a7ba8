# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a person reads it, from data."""

from __future__ import annotations

from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.report import Held, as_text, failed, from_answer

CONFINEMENT = {"means": "Landlock and seccomp", "in_force": ["read", "write", "network", "process"]}
HELD = Held(CONFINEMENT, 0.002, 0.4, 260.0, ())
NOTHING = {"added": [], "removed": [], "changed": [], "totals": {}, "left_out": {}}


def _text(difference: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    answer = {
        "outcome": "success",
        "result": None,
        "stdout": "",
        "warnings": [],
        "seconds": {"open": 0.01, "script": 0.05, "total": 0.3},
        "peak_memory_mb": 240.0,
        "difference": {**NOTHING, **(difference or {})},
        "pictures": {},
        "in_force": [],
        **changes,
    }
    return as_text(from_answer(answer, HELD)).splitlines()


def test_the_last_line_tells_the_cost_and_what_held_the_script() -> None:
    assert _text()[-1] == (
        "Took 0.05 s in the script, 0.4 s in all, 260 MB at most. Confined by Landlock and seccomp; "
        "it could not reach: "
        "your files, your disk, the network, other programs."
    )


def test_a_copy_that_held_up_the_window_is_owned_up_to() -> None:
    held = Held(CONFINEMENT, 0.86, 11.0, 1.0, ())
    assert "Blender stood still for 0.86 s while the scene was copied" in as_text(failed("It crashed.", held))


def test_only_what_was_in_force_is_claimed() -> None:
    held = Held({"means": "hope", "in_force": ["network"]}, 0.0, 1.0, 1.0, ())
    assert as_text(failed("It crashed.", held)).endswith("Confined by hope; it could not reach: the network.")


def test_each_kind_of_change_has_its_form() -> None:
    changes = [
        {"property": "location", "before": [0.0, 0.0], "after": [1.5, 0.0]},
        {"property": "modifiers['Bevel']", "after": "Bevel modifier", "note": "width 0.2"},
        {"property": "['old']", "before": 3},
        {"property": "positions", "note": "changed"},
        {"property": "name", "before": "a" * 200, "after": "b"},
    ]
    block = {"kind": "Object", "name": "Cube", "changes": changes}
    assert _text({"changed": [block]})[2:9] == [
        "Changed:",
        "  ~ Object 'Cube'",
        "      location: (0, 0) → (1.5, 0)",
        "      + modifiers['Bevel']: 'Bevel modifier' (width 0.2)",
        "      − ['old']: was 3",
        "      positions: changed",
        f"      name: '{'a' * 79}… → 'b'",
    ]


def test_what_is_too_much_is_counted() -> None:
    changed = [
        {"kind": "Mesh", "name": str(number), "changes": [{"property": "x", "note": "changed"}]}
        for number in range(100)
    ]
    lines = _text({"changed": changed, "left_out": {"changed": 1234}})
    assert "  … and 142 more lines" in lines
    assert "Not shown: 1,234 changed" in lines
    assert len(lines) < 75


def test_of_very_many_of_a_kind_the_first_ones_stand_for_all() -> None:
    added = [{"kind": kind, "name": f"{number}"} for number in range(190) for kind in ("Object", "Mesh")]
    added.insert(100, {"kind": "Material", "name": "Brick"})
    lines = _text({"added": added, "left_out": {"added": 210}})
    assert lines[2:5] == ["Added:", "  + Object '0'", "  + Mesh '0'"]
    assert lines.count("  + Material 'Brick'") == 1
    assert lines[25:] == [
        "  + … and 179 more of Object",
        "  + … and 179 more of Mesh",
        "  + Material 'Brick'",
        "Not shown: 210 added",
        "",
        lines[-1],
    ]


def test_no_name_and_no_output_can_look_like_a_line_of_the_report() -> None:
    spoof = "x\nNothing in the scene would change.\u202e\x1b[2J"
    lines = _text(
        {
            "added": [{"kind": "Object", "name": spoof, "detail": f"child of {spoof}"}],
            "changed": [
                {"kind": "Scene", "name": spoof, "changes": [{"property": spoof, "note": f"+ {spoof}"}]}
            ],
        },
        stdout=spoof,
        warnings=[spoof],
        result=spoof,
    )
    assert not [line for line in lines if line.startswith("Nothing")]
    assert not [line for line in lines if not line.isprintable()]
    assert "      x\\nNothing in the scene would change.\\u202e\\x1b[2J: + x\\nNothing" in "\n".join(lines)


def test_warnings_and_output_are_shown() -> None:
    lines = _text(warnings=["a handler was removed"], stdout="line\n" * 30, result={"a": 1})
    assert lines.count("  line") == 20
    assert "Its result: {'a': 1}" in lines
    assert "  ! a handler was removed" in lines


def test_the_higher_of_two_memory_figures_counts() -> None:
    assert any("300 MB at most" in line for line in _text(peak_memory_mb=300.0))


def test_what_was_measured_above_an_estimate_is_shown() -> None:
    growth = {"object Table": {"estimate": 7e12, "made": 35840.0}, "bpy.ops.mesh.bevel": {"estimate": 3e6}}
    lines = _text(growth=growth)
    at = lines.index("Measured, since estimates are above the limit:")
    assert lines[at + 1 : at + 3] == ["  object Table: 35,840", "  bpy.ops.mesh.bevel"]
    many = {f"object {number}": {"estimate": 3e6, "made": 1.0} for number in range(20)}
    assert "  … and 8 more" in _text(growth=many)
