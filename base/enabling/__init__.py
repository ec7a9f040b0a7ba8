# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender's start needs of the other rooms without loading them: enabling the extension must stay cheap."""
