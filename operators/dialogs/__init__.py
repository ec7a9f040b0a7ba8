# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the dialogs of operators are, and how their texts break into lines."""
