# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a step would make, before Blender makes it.

An estimate decides one thing: whether somebody has to look closer. What is estimated above the limit is rehearsed under
the kernel's limits of memory and time; what the rehearsal measured decides, and the live run may go up to that.
"""
