# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that goes through the specification names tests and files that are there; so does what an audit found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_ROWS = [
    line
    for line in (_ROOT / "docs" / "specification.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| the specification", "|---"))
]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_every_point_has_a_place_and_a_test_that_are_there(row: str) -> None:
    _point, where, tests = row.strip("| ").split(" | ")
    for place in re.findall(r"`([^`]+)`", where):
        assert (_ROOT / place).exists(), place
    named = re.findall(r"`([^`]+)::(\w+)`", tests)
    assert named, "no test shows it"
    for file, name in named:
        text = (_ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", text, re.MULTILINE), f"{file} has no {name}"


#: What an audit of the specification found, and the tests that show each on the wire: over HTTP, a WebSocket or a
#: pipe, in a process of its own where there is no server yet, or in the journal of a supervised one.
AUDIT = {
    "`error` is one of the five canonical names, by every way to call a tool": (
        "server/test_failures.py::test_every_class_of_error_has_one_of_five_names",
    ),
    "code that is missing, empty or no text is InvalidParamsError, with a record, by every way to call a tool": (
        "server/test_failures.py::test_a_script_that_is_missing_empty_or_no_text_is_refused_and_recorded",
    ),
    "without Blender the literal error, in a bare Python, journal or not": (
        "sandbox/run/test_execute.py::test_a_python_without_blender_says_so",
    ),
    "journal_days counts for every writer and is 30 at least": (
        "server/test_specification_on_the_wire.py"
        "::test_a_call_after_midnight_removes_the_journal_of_so_many_days_and_never_less_than_30",
        "server/test_specification_on_the_wire.py::test_less_than_30_days_is_refused_with_what_to_use",
    ),
    "the record of a rejected text keeps its validation": (
        "server/tools/test_inject.py::test_a_rejected_script_leaves_its_validation",
    ),
    "that of a failed rehearsal its report": (
        "server/tools/test_inject.py::test_what_fails_in_the_rehearsal_is_never_asked_about",
    ),
    "the shim's attempts and back-off do what their names say": (
        "server/clients/test_stdio_shim.py"
        "::test_each_request_has_as_many_tries_to_connect_as_set_with_longer_and_longer_pauses",
        "server/clients/test_stdio_shim.py::test_what_only_reads_is_asked_again_as_often_as_set",
    ),
    "and refuse nonsense values": (
        "server/clients/test_stdio_shim.py::test_a_value_that_makes_no_sense_is_refused_with_what_to_use",
    ),
    "a restarted process has its own record": (
        "sandbox/confinement/test_supervisor.py::test_each_restart_has_a_record_of_its_own_before_it",
    ),
    "level arithmetic returns the last value": (
        "server/test_specification_on_the_wire.py::test_the_level_arithmetic_gives_the_last_value",
    ),
    "plain frames do not nest a second status": (
        "server/test_specification_on_the_wire.py::test_a_plain_answer_has_one_status",
    ),
    "`script_or_text` is an accepted name": (
        "server/tools/test_inject.py::test_the_specifications_name_of_the_script_is_taken",
    ),
    "a question about an unrehearsed script says what will happen": (
        "server/tools/test_inject.py::test_a_question_about_what_was_not_rehearsed_says_what_will_happen",
    ),
    "a dry run reports what policy would refuse": (
        "server/tools/test_scripts_switched_off.py::test_a_dry_run_refuses_what_validation_refuses",
    ),
    "images.load, handlers and np.fromfile are found by validation": (
        "server/test_specification_on_the_wire.py::test_what_scripts_do_not_get_is_found_before_anything_runs",
    ),
    "spans are exported over OTLP/HTTP to a collector": (
        "server/test_telemetry.py::test_a_request_is_a_span_with_its_parts_in_the_clients_own_trace",
    ),
    "tools of another extension are listed under its name, behind the same doors, journal and confirmation": (
        "server/test_extension_tools.py::test_they_are_listed_under_the_extensions_name_and_called",
        "server/test_extension_tools.py::test_what_changes_something_is_asked_about_and_what_reads_is_not",
        "server/test_extension_tools.py::test_failures_have_the_form_of_all_failures",
    ),
}
_WIRES = ("support.clients.tool_calls", "support.bridges.scripted_bridge", "import subprocess")


@pytest.mark.parametrize("row", AUDIT)
def test_every_point_of_the_audit_has_a_test_on_the_wire(row: str) -> None:
    for named in AUDIT[row]:
        file, name = named.split("::")
        text = (_ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", text, re.MULTILINE), f"{file} has no {name}"
        assert any(wire in text for wire in _WIRES), f"{file} talks to nothing over a wire"
