import bpy
scene = bpy.context.scene
engines = [e.identifier for e in bpy.types.RenderSettings.bl_rna.properties['engine'].enum_items]
try:
    scene.render.engine = 'BLENDER_EEVEE_NEXT'
except TypeError:
    scene.render.engine = 'BLENDER_EEVEE'
scene.eevee.taa_render_samples = 32
if hasattr(scene.eevee, "use_gtao"):
    scene.eevee.use_gtao = True
if hasattr(scene.eevee, "use_raytracing"):
    scene.eevee.use_raytracing = True
result = scene.render.engine
# check: g['result'].startswith('BLENDER_EEVEE') and bpy.context.scene.eevee.taa_render_samples == 32
