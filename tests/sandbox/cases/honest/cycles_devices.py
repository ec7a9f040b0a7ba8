"""Rendering settings as most scripts make them: look for a device, fall back, play the result."""

import bpy


def use_devices(scene):
    preferences = bpy.context.preferences.addons["cycles"].preferences
    for kind in ("OPTIX", "CUDA", "METAL", "HIP"):
        try:
            preferences.compute_device_type = kind
            break
        except TypeError:
            continue
    preferences.get_devices()
    for device in preferences.devices:
        device.use = True
    scene.cycles.device = "CPU"


scene = bpy.context.scene
scene.render.engine = "CYCLES"
try:
    use_devices(scene)
except Exception as error:
    print("no devices:", error)
scene.cycles.samples = 32
scene.render.resolution_percentage = 50
if bpy.context.screen is not None:
    bpy.ops.screen.animation_play()
    bpy.ops.screen.animation_cancel()
bpy.context.scene.frame_set(3)
