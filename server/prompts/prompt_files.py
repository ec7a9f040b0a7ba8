# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads prompts from text files, which a person can review and a user can replace or extend.

A file starts with a head between two lines `---`; the text follows:

    ---
    name: turntable
    title: Set up a turntable
    description: Turn the camera once around an object
    argument object (required, complete=object): The object in the middle
    argument frames (default=120): Frames of one full turn
    embed: blender://scene
    ---
    Set up a turntable around "{{object}}" in {{frames}} frames.

`{{name}}` is replaced by the argument, `{{name|words}}` by the words if the argument is missing. `embed` attaches a
resource. `complete` is the kind of the argument (object, material, collection, scene, operator).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..protocol.context import RequestContext
from ..protocol.features import Completer, Features, Prompt, PromptArgument
from ..protocol.messages import content
from ..protocol.messages.content import Json

__all__ = ("SHIPPED", "PromptFile", "PromptFileError", "load", "parse", "prompts")

SHIPPED = Path(__file__).parent
"""The folder of the extension's own prompts."""

_ARGUMENT = re.compile(r"argument (?P<name>[a-z_]+)(?: \((?P<options>[^)]*)\))?")
_OPTIONS = re.compile(
    r"(?P<required>required)?(?:, )?(?:default=(?P<default>.*?))?(?:, )?(?:complete=(?P<complete>[a-z]+))?"
)
_PLACE = re.compile(r"\{\{(?P<name>[a-z_]+)(?:\|(?P<otherwise>[^}]*))?\}\}")
_HEAD = re.compile(r"---\n(?P<head>.*?)\n---\n(?P<text>.*)", re.DOTALL)

_log = logging.getLogger(__name__)


class PromptFileError(ValueError):
    """Tells that a prompt file is invalid; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument, from its line in the head."""

    name: str
    description: str
    required: bool = False
    default: str = ""
    complete: str = ""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A parsed prompt file."""

    name: str
    text: str
    title: str = ""
    description: str = ""
    embed: str = ""
    arguments: tuple[Argument, ...] = field(default=())

    def fill(self, given: Mapping[str, str]) -> str:
        """Return the text with these arguments filled in."""
        values = {one.name: given.get(one.name) or one.default for one in self.arguments}
        return _PLACE.sub(lambda found: values[found["name"]] or found["otherwise"] or "", self.text)


def parse(source: str, where: str) -> PromptFile:
    """Parse the text of a prompt file. Raises PromptFileError that begins with `where`."""
    found = _HEAD.fullmatch(source.replace("\r\n", "\n"))
    if not found:
        raise PromptFileError(f"{where}: must begin with a head between two lines '---'")
    fields: dict[str, str] = {}
    arguments: list[Argument] = []
    for number, line in enumerate(found["head"].splitlines(), start=2):
        key, colon, value = _split(line)
        argument = _ARGUMENT.fullmatch(key)
        if not colon:
            raise PromptFileError(f"{where}, line {number}: must be 'key: value'")
        if argument:
            arguments.append(_argument(argument, value, f"{where}, line {number}"))
        elif key in ("name", "title", "description", "embed"):
            fields[key] = value
        else:
            raise PromptFileError(f"{where}, line {number}: {key!r} is not known")
    if not fields.get("name"):
        raise PromptFileError(f"{where}: a name is missing")
    prompt = PromptFile(text=found["text"].strip(), arguments=tuple(arguments), **fields)
    unknown = {place["name"] for place in _PLACE.finditer(prompt.text)} - {one.name for one in arguments}
    if unknown:
        raise PromptFileError(f"{where}: {', '.join(sorted(unknown))}: no such argument in the head")
    return prompt


def load(*folders: Path) -> dict[str, PromptFile]:
    """Return the prompts of all `*.md` files by name; a later folder overrides an earlier one.

    An invalid file is logged and skipped, so that a mistake in one does not remove the others.
    """
    found: dict[str, PromptFile] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.md")):
            try:
                prompt = parse(path.read_text(encoding="utf-8"), path.name)
            except (PromptFileError, OSError, UnicodeDecodeError) as error:
                _log.warning("prompt file %s is left out: %s", path, error)
            else:
                found[prompt.name] = prompt
    return found


def prompts(
    files: Iterable[PromptFile], completers: Mapping[str, Completer], features: Features
) -> list[Prompt]:
    """Return the prompts in the protocol's form; they read embedded resources from `features`."""
    return [_prompt(file, completers, features) for file in files]


def _prompt(file: PromptFile, completers: Mapping[str, Completer], features: Features) -> Prompt:
    async def get(ctx: RequestContext, given: dict[str, str]) -> list[Json]:
        messages = [content.message("user", content.text(file.fill(given)))]
        resource = features.resources.get(file.embed)
        if resource:
            contents = await resource.read(ctx, file.embed)
            messages += [content.message("user", content.embedded(one)) for one in contents]
        return messages

    arguments = [
        PromptArgument(
            name=one.name,
            description=f"{one.description} (default: {one.default})" if one.default else one.description,
            required=one.required,
            complete=completers.get(one.complete),
        )
        for one in file.arguments
    ]
    return Prompt(
        name=file.name, title=file.title, description=file.description, arguments=arguments, get=get
    )


def _split(line: str) -> tuple[str, str, str]:
    """Split a line into key and value at the first colon that is not inside parentheses."""
    found = re.match(r"((?:[^:(]|\([^)]*\))*)(:?)(.*)", line)
    assert found
    return found[1].strip(), found[2], found[3].strip()


def _argument(found: re.Match[str], description: str, where: str) -> Argument:
    options = _OPTIONS.fullmatch(found["options"] or "")
    if not options:
        raise PromptFileError(
            f"{where}: in parentheses may be: required, default=…, complete=…, in this order"
        )
    default, complete = options["default"] or "", options["complete"] or ""
    return Argument(found["name"], description, bool(options["required"]), default, complete)
