# SPDX-License-Identifier: GPL-3.0-or-later

"""The script out of answers as assistants write them."""

from __future__ import annotations

import base64
import json

import pytest
from bl_ext.user_default.mcp_bridge.approvals.extract import NoScript, extract
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError

CUBE = "import bpy\nbpy.ops.mesh.primitive_cube_add(size=2)\n"
BODY = CUBE.rstrip("\n")

FOUND = {
    "tagged fence": (f"```python\n{BODY}\n```", CUBE),
    "fence with prose around": (
        f"Sure! Here is the script:\n\n```python\n{BODY}\n```\n\nRun it in Blender.",
        CUBE,
    ),
    "fence tagged py": (f"```py\n{BODY}\n```", CUBE),
    "fence tagged Python in capitals": (f"```Python\n{BODY}\n```", CUBE),
    "fence tagged bpy": (f"```bpy\n{BODY}\n```", CUBE),
    "fence tagged python3 with a title": (f'```python3 title="cube.py"\n{BODY}\n```', CUBE),
    "fence with a file name after a colon": (f"```python:cube.py\n{BODY}\n```", CUBE),
    "fence with braces": (f"```{{.python}}\n{BODY}\n```", CUBE),
    "untagged fence": (f"Here:\n```\n{BODY}\n```", CUBE),
    "tilde fence": (f"~~~python\n{BODY}\n~~~", CUBE),
    "tilde fence with backticks inside": ('~~~python\nx = """\n```\n"""\n~~~', 'x = """\n```\n"""\n'),
    "four backticks around three": ('````python\nx = """\n```\n"""\n````', 'x = """\n```\n"""\n'),
    "three backticks in a docstring": (
        '```python\ndef f():\n    """\n    ```\n    """\nf()\n```',
        'def f():\n    """\n    ```\n    """\nf()\n',
    ),
    "fence in a list": (
        "1. Do this:\n\n   ```python\n   import bpy\n   x = 1\n   ```\n2. Done",
        "import bpy\nx = 1\n",
    ),
    "fence in a nested list": (
        "- a\n    - b\n\n      ```python\n      if 1:\n          x = 1\n      ```",
        "if 1:\n    x = 1\n",
    ),
    "fence in a quotation": ("> ```python\n> x = 1\n> y = 2\n> ```", "x = 1\ny = 2\n"),
    "fence with Windows line ends": ("```python\r\nx = 1\r\ny = 2\r\n```\r\n", "x = 1\ny = 2\n"),
    "fence after a byte-order mark": ("\ufeff```python\nx = 1\n```", "x = 1\n"),
    "unclosed fence of a whole script": (f"Here:\n```python\n{BODY}", CUBE),
    "python beside other languages": (
        f"Install:\n```bash\npip install x\n```\nThen:\n```python\n{BODY}\n```\n```json\n{{}}\n```",
        CUBE,
    ),
    "steps in several fences": (
        "First:\n```python\nimport bpy\n```\nThen add it:\n```python\nx = 1\n```",
        "import bpy\n\nx = 1\n",
    ),
    "a corrected version": (
        "```python\nx = 1\n```\nHere is the corrected version:\n```python\nx = 2\n```",
        "x = 2\n",
    ),
    "the full script at the end": (
        "```python\nx = 1\n```\nPutting it together, the complete script:\n```python\nx = 1\ny = 2\n```",
        "x = 1\ny = 2\n",
    ),
    "an alternative": (
        "```python\nx = 1\n```\nAlternatively, if you prefer spheres:\n```python\nx = 2\n```",
        "x = 1\n",
    ),
    "tagged beats untagged": ("```\nx = 0\n```\n```python\nx = 1\n```", "x = 1\n"),
    "inline code is no fence": ("Use `bpy.data`:\n```python\nx = `1`\n```".replace("`1`", "1"), "x = 1\n"),
    "prompts": (
        ">>> import bpy\n>>> x = 1\n>>> for i in range(2):\n...     print(i)\n...\n0\n1",
        "import bpy\nx = 1\nfor i in range(2):\n    print(i)\n",
    ),
    "prompts in a fence": ("```python\n>>> x = 1\n>>> x\n1\n```", "x = 1\nx\n"),
    "plain code": (CUBE, CUBE),
    "plain code with blank lines": (f"\n\n{BODY}\n\n", CUBE),
    "indented plain code": ("    import bpy\n    x = 1\n", "import bpy\nx = 1\n"),
    "code after prose without a fence": (f"Here is the script:\n\n{BODY}", CUBE),
    "code between prose without a fence": (f"Here is the script:\n\n{BODY}\n\nThat makes a cube.", CUBE),
    "a call alone": ("bpy.ops.mesh.primitive_cube_add()", "bpy.ops.mesh.primitive_cube_add()\n"),
    "code with a mistake is left for the validator": (
        "import bpy\nx = = 1\ny = 2",
        "import bpy\nx = = 1\ny = 2\n",
    ),
    "a fence with a mistake is left for the validator": ("```python\nx = = 1\n```", "x = = 1\n"),
    "attachment in text form": (
        json.dumps({"filename": "a.py", "mimeType": "text/x-python", "text": CUBE}),
        CUBE,
    ),
    "only comments and code": ("# a note\n# another\nx = 1", "# a note\n# another\nx = 1\n"),
    "unicode": ('```python\nname = "Würfel ✓"\n```', 'name = "Würfel ✓"\n'),
    "a script that holds JSON": (
        "```python\ndata = {'text': 'a', 'filename': 'b'}\n```",
        "data = {'text': 'a', 'filename': 'b'}\n",
    ),
}

REFUSED = {
    "prose": ("I'm sorry, I can't help with that.", "prose, not a script"),
    "one word": ("Sure", "prose, not a script"),
    "a quoted sentence": ('"All done."', "prose, not a script"),
    "prose with inline code": (
        "You could call `bpy.ops.mesh.primitive_cube_add()` to add a cube to the scene.",
        "prose, not a script",
    ),
    "empty": ("   \n", "the answer is empty"),
    "another language": ("```bash\nrm -rf x\n```", "only fenced bash"),
    "several other languages": ("```json\n{}\n```\n```glsl\nvoid main() {}\n```", "only fenced glsl, json"),
    "an untagged fence of output": ("```\n+---+\n| a |\n+---+\n```", "no Python"),
    "cut off": ("```python\nimport bpy\ndef f(:\n    x = (1,", "breaks off"),
    "a list of steps": ("1. Select the cube.\n2. Press G.\n3. Move the mouse.", "prose, not a script"),
    "an empty fence": ("```python\n```", "no Python script"),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_script_is_found(name: str) -> None:
    answer, script = FOUND[name]
    assert extract(answer).script == script


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_script_is_refused_with_a_reason(name: str) -> None:
    answer, reason = REFUSED[name]
    with pytest.raises(NoScript, match=reason):
        extract(answer)


def test_a_refusal_is_an_invalid_parameter() -> None:
    assert issubclass(NoScript, InvalidParamsError)


def test_there_are_enough_answers() -> None:
    assert len(FOUND) + len(REFUSED) >= 40


@pytest.mark.parametrize(
    "attachment",
    [
        {"filename": "cube.py", "mimeType": "text/x-python", "text": CUBE},
        {"filename": "cube.py", "text": CUBE},
        {"mimeType": "application/x-python-code", "text": CUBE},
        {"filename": "cube.py", "mimeType": "text/plain", "blob": base64.b64encode(CUBE.encode()).decode()},
        {"filename": "cube.py", "text": f"```python\n{BODY}\n```"},
        {"filename": "cube.py", "text": CUBE.replace("\n", "\r\n")},
    ],
)
def test_attachments(attachment: dict[str, str]) -> None:
    found = extract(attachment)
    assert (found.script, found.origin) == (CUBE, "attachment")


@pytest.mark.parametrize(
    ("attachment", "reason"),
    [
        (
            {"filename": "cube.blend", "mimeType": "application/x-blender", "blob": "AA=="},
            "cube.blend is no Python script",
        ),
        ({"filename": "cube.py", "text": " "}, "is empty"),
        ({"filename": "cube.py"}, "is empty"),
        ({"filename": "cube.py", "blob": "%%%"}, "not base64"),
        ({"filename": "cube.py", "blob": base64.b64encode(b"\xff\xfe").decode()}, "not base64 of UTF-8"),
        ({}, "the attachment is no Python script"),
    ],
)
def test_attachments_that_are_no_script(attachment: dict[str, str], reason: str) -> None:
    with pytest.raises(NoScript, match=reason):
        extract(attachment)


def test_notes_say_what_was_done_to_the_text() -> None:
    assert extract(f"```python\n{BODY}").notes == (
        "the code fence is not closed: the script may be incomplete",
    )
    assert extract("```python\nx = 1\n```\nand\n```python\ny = 2\n```").notes == (
        "2 code blocks were joined",
    )
    assert extract(f"Hello:\n\n{BODY}\n\nBye bye now.").notes == ("the text around the script was left out",)


def test_other_values_and_sizes_are_refused() -> None:
    with pytest.raises(NoScript, match="the answer is a int"):
        extract(3)  # type: ignore[arg-type]
    with pytest.raises(NoScript, match="are allowed"):
        extract("x" * 2_000_001)
