import bpy
scene = bpy.context.scene
scene.render.engine = 'CYCLES'
scene.cycles.samples = 128
scene.cycles.use_denoising = True
scene.cycles.max_bounces = 8
scene.cycles.device = 'CPU'
scene.cycles.use_adaptive_sampling = True
scene.cycles.adaptive_threshold = 0.02
scene.render.film_transparent = True
scene.render.resolution_x, scene.render.resolution_y = 1080, 1350
scene.render.fps = 30
scene.render.use_motion_blur = False
scene.render.use_persistent_data = True
scene.view_settings.view_transform = 'Filmic'
scene.view_settings.look = 'None'
scene.view_settings.exposure = 0.5
scene.view_settings.gamma = 1.1
scene.render.image_settings.file_format = 'OPEN_EXR'
scene.render.image_settings.color_depth = '16'
scene.render.filepath = "//renders/final_"
vl = bpy.context.view_layer
vl.use_pass_normal = True
vl.use_pass_diffuse_color = True
vl.cycles.denoising_store_passes = True
# check: bpy.context.scene.cycles.samples == 128 and bpy.context.scene.render.filepath == '//renders/final_'
