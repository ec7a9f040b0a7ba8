# SPDX-License-Identifier: GPL-3.0-or-later
"""What `import math`, `import random` and the like give a script, a file a family.

Each file makes the members of its modules for one run, from the guards of that run. Nothing of the standard library
is given out as it is, unless it is written in C and cannot be changed: see `guard/facade.py`. To allow a module, add
its members here and its name in `policy.py`; `tests/sandbox/test_world.py` then walks what it gives.
"""
