"""Asks numpy for what it loads parts of itself for that nothing else has loaded."""

import bpy
import numpy as np

heights = np.array([3.0, 1.0, 2.0, 1.0])
for height in np.unique(heights).tolist():
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, height * 2, height))
bpy.context.object.scale.z = float(np.median(heights))
