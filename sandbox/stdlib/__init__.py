# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that a script may import (`math`, `random`, …): one file for each family of modules.

Each file makes the members of its modules for one run, from the guards of that run. A script gets a function or class
of the standard library itself only if it is written in C and cannot be changed: see `guard/facade.py`. To allow a
module, add its members here and its name in `policy.py`; `tests/sandbox/test_world.py` then walks every value that the
module offers.
"""
