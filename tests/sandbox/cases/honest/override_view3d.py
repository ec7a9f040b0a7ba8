import bpy
cursor = bpy.context.scene.cursor
cursor.location = (1, 2, 3)
done = False
for area in bpy.context.window_manager.windows[0].screen.areas:
    if area.type == 'VIEW_3D':
        for region in area.regions:
            if region.type == 'WINDOW':
                with bpy.context.temp_override(window=bpy.context.window_manager.windows[0], area=area, region=region):
                    bpy.ops.view3d.snap_selected_to_cursor(use_offset=False)
                    done = True
                break
obj = bpy.data.objects['Cube']
obj.location = cursor.location
# check: tuple(bpy.data.objects['Cube'].location) == (1, 2, 3)
