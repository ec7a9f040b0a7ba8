# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompts that the server offers, each a text file, and the module that reads them."""
