# SPDX-License-Identifier: GPL-3.0-or-later
"""Which benchmarks a call of `make bench` measures."""

from __future__ import annotations

import pytest

from measure import bench


def test_a_name_chooses_the_benchmarks_that_begin_with_it() -> None:
    everything = bench.chosen_files([])
    assert {"calls", "audit", "farms", "real_scripts"} <= everything.keys()
    assert bench.chosen_files(["call", "audit"]).keys() == {"calls", "audit"}


@pytest.mark.parametrize("wrong", ["cals", "--cals"])
def test_a_wrong_name_measures_nothing_and_says_which_there_are(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench.chosen_files([wrong])
    said = capsys.readouterr().err
    assert wrong in said
    assert "--cals" in said or "no benchmark begins with 'cals'; there are audit" in said
