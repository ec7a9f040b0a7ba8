# SPDX-License-Identifier: GPL-3.0-or-later
"""Confinement on Windows by an AppContainer and a job object. Written by the documentation; not tried there yet."""
