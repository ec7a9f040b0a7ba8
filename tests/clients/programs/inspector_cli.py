# SPDX-License-Identifier: GPL-3.0-or-later
"""The Inspector's command line, which makes one call a run."""

import json
import os
import signal
import subprocess

TOLD = json.loads(os.environ["TOLD"])
NODE, LAUNCHER = os.environ["NODE"], os.environ["INSPECTOR"]


def words():
    """Where the server is."""
    if TOLD["transport"] == "stdio":
        variables = [word for name, value in TOLD["env"].items() for word in ("-e", f"{name}={value}")]
        return [TOLD["command"], *TOLD["args"], *variables]
    return [TOLD["url"], "--transport", "http", "--header", f"Authorization: Bearer {TOLD['token']}"]


def run(*more, seconds=None):
    """What it prints. After `seconds` it is interrupted as by Ctrl-C, and nothing comes back."""
    with subprocess.Popen(
        [NODE, LAUNCHER, "--cli", *words(), *more], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        try:
            return program.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGINT)
            return ""


run("--method", "tools/list")
for step in TOLD["steps"]:
    called = ["--method", "tools/call", "--tool-name", step["tool"]]
    for name, value in step["arguments"].items():
        called += ["--tool-arg", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    said = run(*called, seconds=8 if TOLD["cancel"] else None)
    if said:
        print("RESULT", json.dumps(json.loads(said)), flush=True)
