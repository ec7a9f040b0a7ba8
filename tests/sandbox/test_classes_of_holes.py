# SPDX-License-Identifier: GPL-3.0-or-later
"""Each class of holes that was found has a rule, and at least five tests of it besides what it was found by.

B1 to F2 are what broke the first release candidate, G1 and further what attacks in copies of Blender found later.
Attacks of tests/sandbox/cases are run by `test_cases.py`, and the tests that are named here by the suite: this one
counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from measure.bench import load_module
from support.sandboxing import sandbox_cases

TESTS = Path(__file__).resolve().parent.parent

#: What each class is, how many of the cases are what it was found by, and the cases: the beginning of names of attacks,
#: or a file and a test, of whose cases those count that have a word in them.
CLASSES: dict[str, tuple[str, int, list[str]]] = {
    "B1": ("any Python, by what C code asks an instance for", 1, ["own-world-copy", "own-world-deepcopy",
        "own-world-json", "own-world-vars", "own-world-partial", "own-world-field", "own-world-view",
        "own-world-stand-in", "own-struct-reduce"]),
    "B2": ("memory that numpy reads where an instance says", 3, ["own-world-array-"]),
    "B3": ("parts of what was freed", 2, ["own-removed-part", "lifetime/test_parts.py test_a_part_goes_with_its_item"]),
    "C1": ("containers that grow", 2, ["guard/values/test_growing.py test_no_container_grows_without_measure"]),
    "C2": ("texts that Blender takes", 2, ["own-text-line", "own-text-string", "own-text-piecewise", "own-text-body",
        "own-text-cursor", "own-text-euro", "blender/test_text_sizes.py test_lines_are_limited"]),
    "C3": ("counts that come over a link", 4,
        ["growth/test_estimate.py test_a_count_that_is_not_known_has_to_be_rehearsed", "own-gn-"]),
    "C4": ("simulations", 1, ["growth/test_estimate.py test_cloth_that_collides_with_itself_is_estimated"]),
    "D1": ("states that mathutils' trees trust", 1,
        ["stdlib/test_mathutils.py test_states_and_indices_are_checked KDTree"]),
    "D2": ("indices that mathutils' trees trust", 1,
        ["stdlib/test_mathutils.py test_states_and_indices_are_checked FromPolygons"]),
    "D3": ("NaN in place of a number", 3, ["own-nan-", "blender/properties/test_limits.py"]),
    "D4": ("arguments of a macro's steps", 2,
        ["own-macro-", "blender/operators/test_ops.py test_a_step_is_checked_as_a_call_of_its_operator"]),
    "D5": ("nodes that trust their inputs, or are not finished", 2,
        ["own-node-", "blender/test_node_types.py"]),
    "D6": ("operators in a state that they trust", 2, ["own-loop-cut", "own-convert-sculpting",
        "blender/operators/test_ops.py test_nothing_is_converted_but_in_object_mode"]),
    "E1": ("floods", 4, ["../server/transport/test_floods.py test_an_honest_client_is_served_beside_it",
        "../server/transport/test_frames.py", "../server/transport/test_turns.py",
        "../server/transport/test_shares.py"]),
    "E2": ("what is no character", 1, ["../server/transport/test_lone_surrogates.py"]),
    "E3": ("what only looks like our name", 2,
        ["../server/clients/test_authority.py test_names_that_only_look_like_ours_are_refused"]),
    "E4": ("slow bodies", 1, ["../server/transport/test_floods.py test_an_honest_client_is_served_beside_it bodies",
        "../server/transport/test_http_protocol.py test_slow_bodies_of_one_client_leave_places_for_others",
        "../server/transport/test_http_protocol.py test_a_body_has_to_arrive_in_time",
        "../server/transport/test_streamable_http.py test_a_body_that_never_comes_has_an_end",
        "../server/transport/test_streamable_http.py test_a_client_that_goes_in_the_middle_of_a_body"]),
    "G1": ("runs that nobody watches", 1, ["run/test_watchdog.py test_a_watching_thread_that_fails_ends_its_runs",
        "run/test_watchdog.py test_after_a_failure_the_next_run_has_another_thread",
        "run/test_watchdog.py test_a_run_without_a_thread_does_not_begin"]),
    "G2": ("estimates of what they do not follow", 2, ["own-growth-",
        "growth/test_estimate.py test_no_number_that_a_formula_reads_makes_it_small",
        "growth/test_arithmetic.py test_no_result_is_above_its_bound"]),
    "G3": ("custom properties in one another", 1, ["own-idp-nest", "own-idp-piecewise", "own-idp-group",
        "own-idp-update", "own-idp-deque", "own-idp-unguarded", "own-idp-doubling",
        "blender/test_custom_properties.py test_each_way_has_the_same_limit"]),
    "G4": ("chains of data-blocks", 2, ["own-chain-",
        "growth/test_chains.py test_each_way_to_a_long_chain_is_refused"]),
    "G5": ("animation that is not a number", 1, ["own-curve-",
        "growth/test_curves.py test_a_value_that_is_not_finite_is_refused"]),
    "G6": ("particles of many frames at once", 1, ["own-particles-",
        "growth/test_estimate.py test_particles_of_many_frames_at_once_have_to_be_rehearsed"]),
    "G7": ("texts of exceptions that show memory", 2, [
        "guard/test_exceptions.py test_a_script_gets_no_class_that_reads_memory"]),
    "G8": ("methods of a script in the midst of C code", 4, ["stdlib/test_called_by_c.py"]),
    "G9": ("long texts that are compared in one call", 6, ["guard/values/test_long_text.py"]),
    "G10": ("values that C code gets after they were measured", 6, ["stdlib/test_values_given_to_c.py"]),
    "G11": ("zones of nodes without a beginning", 2,
        ["growth/test_zones.py test_an_end_without_a_beginning_is_refused"]),
    "G12": ("undo steps of operators", 1,
        ["blender/operators/test_undo_steps.py test_no_operator_leaves_a_step_of_its_own",
        "blender/operators/test_undo_steps.py test_one_undo_takes_a_script_that_sculpts_back"]),
    "G13": ("items of enums that Blender frees", 1, [
        "blender/properties/test_choices.py test_no_way_leads_to_items_that_blender_frees"]),
    "G14": ("counts that bmesh's operators trust", 2, [
        "blender/test_bmesh.py test_no_operator_crashes_of_its_arguments"]),
    "G15": ("images with a side that Blender makes longer", 3, [
        "blender/test_image_sizes.py test_no_way_makes_a_huge_image"]),
    "F1": ("clients that were revoked", 1, ["../server/clients/test_watch.py"]),
    "F2": ("scripts that are switched off", 2, ["../server/tools/test_scripts_switched_off.py"]),
}  # fmt: skip


@cache
def _module(path: str) -> Any:
    return load_module(TESTS / "sandbox" / path)


def _cases(named: str) -> Iterator[str]:
    """The cases of what is named."""
    if not (path := named.partition(" ")[0]).endswith(".py"):
        yield from (each.id for each in sandbox_cases.attacks() if each.id.startswith(named))
        return
    test, _, word = named.partition(" ")[2].partition(" ")
    tests = {
        name: each
        for name, each in vars(_module(path)).items()
        if name.startswith("test_") and callable(each)
    }
    for name, function in tests.items() if not test else [(test, tests[test])]:
        for case in _parameters(function):
            if word in case:
                yield f"{name}[{case}]"


def _parameters(function: Any) -> list[str]:
    """What a test is run with, as text, once for each time it is run."""
    found = [""]
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            found = [f"{before} {value!r}" for before in found for value in list(mark.args[1])]
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_has_five_tests_besides_what_it_was_found_by(name: str) -> None:
    _what, known, named = CLASSES[name]
    cases = [list(_cases(each)) for each in named]
    assert all(cases), named
    assert len({case for some in cases for case in some}) - known >= 5
