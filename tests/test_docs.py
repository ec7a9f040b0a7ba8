# SPDX-License-Identifier: GPL-3.0-or-later
"""What the docs name is there: files, folders, headings, what a link to a module shows, `make` targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import blenders

_ROOT = Path(__file__).resolve().parent.parent
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").glob("*.md")])
_LINK = re.compile(r"\[(`?)([^\]]+?)\1\]\(([^)#\s]*)(#[^)]*)?\)")
_DEFINED = r"^\s*(?:(?:async )?def|class) {0}\b|^{0}\b[^=\n]*="


def _links() -> list[tuple[Path, str, str, str]]:
    return [
        (page, shown, target, anchor.lstrip("#"))
        for page in _PAGES
        for _, shown, target, anchor in _LINK.findall(page.read_text("utf-8"))
        if "://" not in target
    ]


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as a link writes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_links() -> None:
    assert len(_links()) > 40


@pytest.mark.parametrize(
    ("page", "shown", "target", "anchor"), _links(), ids=lambda value: getattr(value, "name", value)
)
def test_each_link_leads_to_what_it_shows(page: Path, shown: str, target: str, anchor: str) -> None:
    path = (page.parent / target).resolve() if target else page
    assert path.exists(), f"{page.name} links to {target}"
    if anchor:
        assert anchor in _anchors(path), f"{page.name} links to {target}#{anchor}"
    name = shown.rpartition(".")[2]
    if path.suffix == ".py" and shown.replace(".", "").isidentifier() and path.name != shown:
        assert re.search(_DEFINED.format(name), path.read_text("utf-8"), re.MULTILINE), f"{shown} in {target}"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_each_command_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = "\n".join(re.findall(r"`[^`\n]+`|^(?: {4}|\t).*$", text, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z][\w-]*)", commands)) <= targets
    for script in re.findall(r"(?<![\w/-])(?:dev|tests|\.ci)/[\w/.]*\w", commands):
        assert list(_ROOT.glob(f"{script}*")), f"{page.name} names {script}"


def test_the_matrix_is_of_the_blenders_that_the_page_names() -> None:
    page = (_ROOT / "docs" / "developing.md").read_text("utf-8")
    found = re.search(r"`make test-matrix` \| [^|]* on Blender ([\d., and]+)", page)
    assert found
    known = [one.version.rpartition(".")[0] for one in blenders.MATRIX]
    assert re.findall(r"\d+\.\d+", found[1]) == known, "name it in the row of `make test-matrix`"


_ROOMS = (
    "approvals base dev docs examples files importers operators panels rendering sandbox scene server tests"
)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_each_path_that_a_page_names_is_there(page: Path) -> None:
    """A path begins with a room; the pages name tests as paths below `tests`, too."""
    for path in re.findall(rf"`((?:{_ROOMS.replace(' ', '|')})/[\w/.-]*)", page.read_text("utf-8")):
        assert (_ROOT / path).exists() or (_ROOT / "tests" / path).exists(), f"{page.name} names {path}"


def test_each_example_of_our_style_is_in_the_tree() -> None:
    """The guide shows code, and then links to the file that it comes from."""
    style = (_ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Style\n")[2]
    shown = re.findall(r"```python\n(.*?)```\n\n\[`\w+`\]\(([^)]+)\)", style, re.DOTALL)
    assert len(shown) == 2
    for code, path in shown:
        assert code in (_ROOT / path).read_text("utf-8"), f"{path} has changed: copy the example again"
