# What a developer runs. The work is done by the scripts in dev/; docs/developing.md explains them.

# What Python compiles it keeps, whatever the environment says: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv/bin/python
ARGS ?=
# The whole suite runs in one Blender more than there are processors, as tests wait; a part, as ARGS names it, in one.
WORKERS = -n $(shell expr $$(nproc) + 1) --dist worksteal
SEARCHES = $(shell grep -rl "^from hypothesis" tests --include="test_*.py")

.PHONY: help setup wheels extension repository mcpb release install run clients prepare check test test-matrix test-window conformance bench offline soak attack clients-check clients-matrix policy policy-diff docs lint format types clean

help:
	@echo "make run            serve from a Blender without a window (BLENDER=/path/to/blender: with its window)"
	@echo "make prepare        fetch what make test-matrix and make test-window need, so that they can begin at once"
	@echo "make check          format, lint, types, and the tests of what changed since main, in less than a minute"
	@echo "make test           test the installed extension in Blender; ARGS='tests/sandbox -x' for a part"
	@echo "make test-matrix    the same on newer Blenders, modules and programs; ARGS='--only 4.5.15' for one"
	@echo "make test-window    the same with the windows of two Blenders, on virtual screens (root rights, Debian);"
	@echo "                    ARGS='--only sid tests/window/test_panel.py' for one and a part"
	@echo "make conformance    the official MCP conformance suites, over HTTP and over WebSocket"
	@echo "make clients-check  real clients read what we write for them (installs them from the network, once)"
	@echo "make clients-matrix what works in which real client; ARGS='--only codex', '--write' into docs/clients.md,"
	@echo "                    '--check' the quick ones, against docs/clients.md"
	@echo "make bench          measure the installed extension; ARGS=calls for a part, ARGS=peers beside another server"
	@echo "make soak           ten minutes with restless clients; MCP_BRIDGE_SOAK_SECONDS for another time"
	@echo "make attack         search for a way out of the sandbox; ARGS='--minutes 10 --seed 1 --blender 5.0.1'"
	@echo "make extension      the validated zip in dist/"
	@echo "make repository     a static extension repository in dist/repository/"
	@echo "make mcpb           the stdio shim as a bundle for Claude Desktop, and as plug-ins for Claude Code and Codex"
	@echo "make release        zip, repository, bundle, plug-ins, notes and checksums in dist/release/"
	@echo "make offline        record anew what the stdio shim answers while there is no Blender"
	@echo "make policy-diff    what a Blender has and the allow-lists do not know; BPY=4.5.15 for another"
	@echo "make policy         write the allow-lists anew, from all Blenders of dev/blenders.py"
	@echo "make docs           the pages as a site in dist/site; a link that leads nowhere makes it fail"
	@echo "make lint, types    ruff; mypy"

setup:
	@$(PYTHON) dev/environment.py

wheels: setup
	@$(VENV) dev/libraries.py

extension: setup
	@$(VENV) dev/extension.py build

repository: setup
	@$(VENV) dev/extension.py repository

mcpb: setup
	@$(VENV) dev/bundles.py

release: setup
	@$(VENV) dev/release.py $(ARGS)

install: setup
	@$(VENV) dev/extension.py install build/user

run: setup
	@$(VENV) dev/run.py $(ARGS)

clients: setup
	@$(VENV) dev/clients.py

prepare: setup
	@$(VENV) dev/matrix.py --prepare

check: install
	@$(VENV) dev/checks/check.py $(ARGS)

test: install clients
	@$(VENV) -m pytest $(or $(ARGS),$(WORKERS))

test-matrix: setup
	@$(VENV) dev/matrix.py $(ARGS)

test-window: install clients
	@$(VENV) dev/window.py $(ARGS)

conformance: install clients
	@$(VENV) tests/conformance/run.py $(ARGS)

clients-check: install clients
	@$(VENV) dev/real_clients.py $(ARGS)

clients-matrix: install clients
	@$(VENV) tests/clients/matrix.py $(ARGS)

bench: install
	@$(VENV) dev/measure/bench.py $(ARGS)

offline: install
	@$(VENV) dev/record_offline.py

soak: install
	@$(VENV) -m pytest tests/soak -s $(ARGS)
	@$(VENV) -m pytest --hypothesis-profile=search $(SEARCHES)

attack: install
	@$(VENV) dev/measure/attack.py $(ARGS)

policy: setup
	@$(VENV) dev/policy/generate.py write

policy-diff: setup
	@$(VENV) dev/policy/generate.py diff $(or $(BPY),$(VENV))

docs: install
	@$(VENV) dev/docs.py

lint: setup
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .

format: setup
	@$(VENV) -m ruff check --fix-only --quiet .
	@$(VENV) -m ruff format .

types: install
	@$(VENV) dev/checks/typecheck.py

clean:
	rm -rf build dist wheels
