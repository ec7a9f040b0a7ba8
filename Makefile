# What a developer runs. The work is done by the scripts in tools/; docs/developing.md explains them.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv/bin/python
ARGS ?=
SEARCHES = $(shell grep -rl "^from hypothesis" tests --include="test_*.py")

.PHONY: help setup wheels extension repository install run clients test test-matrix test-window conformance bench offline soak policy-diff lint format types clean

help:
	@echo "make run            serve from a Blender without a window (BLENDER=/path/to/blender: with its window)"
	@echo "make test           test the installed extension in Blender; ARGS='tests/sandbox -x' for a part"
	@echo "make test-matrix    the same on newer Blenders; ARGS='--only 4.5.15' for one"
	@echo "make test-window    the same with Blender's window, on a virtual screen (root rights, Debian)"
	@echo "make conformance    the official MCP conformance suites, over HTTP and over WebSocket"
	@echo "make bench          measure the installed extension; ARGS=calls for a part"
	@echo "make soak           ten minutes with restless clients; MCP_BRIDGE_SOAK_SECONDS for another time"
	@echo "make extension      the validated zip in dist/"
	@echo "make repository     a static extension repository in dist/repository/"
	@echo "make offline        record anew what the stdio shim answers while there is no Blender"
	@echo "make policy-diff    what a Blender has and the allow-lists do not know; BPY=/path/to/python for another"
	@echo "make lint, types    ruff; mypy"

setup:
	@$(PYTHON) tools/environment.py

wheels: setup
	@$(VENV) tools/libraries.py

extension: setup
	@$(VENV) tools/extension.py build

repository: setup
	@$(VENV) tools/extension.py repository

install: setup
	@$(VENV) tools/extension.py install build/user

run: setup
	@$(VENV) tools/run.py $(ARGS)

clients: setup
	@$(VENV) tools/clients.py

test: install clients
	@$(VENV) -m pytest $(ARGS)

test-matrix: setup
	@$(VENV) tools/matrix.py $(ARGS)

test-window: install clients
	@$(VENV) tools/debian_root.py
	@$(VENV) -m pytest tests/window $(ARGS)

conformance: install clients
	@$(VENV) tests/conformance/run.py $(ARGS)

bench: install
	@$(VENV) tools/bench.py $(ARGS)

offline: install
	@$(VENV) tools/record_offline.py

soak: install
	@$(VENV) -m pytest tests/soak -s $(ARGS)
	@$(VENV) -m pytest --hypothesis-profile=search $(SEARCHES)

policy-diff: setup
	@$(VENV) tools/policy_generate.py diff $(or $(BPY),$(VENV))

lint: setup
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .

format: setup
	@$(VENV) -m ruff check --fix-only --quiet .
	@$(VENV) -m ruff format .

types: install
	@$(VENV) tools/typecheck.py

clean:
	rm -rf build dist wheels
