# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how much geometry a step of a script would make, before Blender makes it.

An estimate decides one thing: whether the script has to be rehearsed. If the estimate is above the limit, the script is
rehearsed under the kernel's limits of memory and time. Then the rehearsal's count decides, and the live run may make
that much.
"""
