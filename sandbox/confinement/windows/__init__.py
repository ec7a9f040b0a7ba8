# SPDX-License-Identifier: GPL-3.0-or-later
"""Confines processes on Windows by an AppContainer and a job object. Written from the documentation; not tried yet."""
