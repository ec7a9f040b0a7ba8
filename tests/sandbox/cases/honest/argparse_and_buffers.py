"""What a script for the command line brings along: arguments, a log, captured output, a way to end."""

import argparse
import io
import logging
import math
import sys
from contextlib import redirect_stdout

import bpy

log = logging.getLogger(__name__)


def parse_args():
    argv = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(description="A ring of posts")
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--radius", type=float, default=3.0)
    return parser.parse_args(argv)


def main():
    args = parse_args()
    options = vars(args)
    log.info("options: %s", options)
    said = io.StringIO()
    with redirect_stdout(said):
        for number in range(options["count"]):
            angle = 2 * math.pi * number / args.count
            place = (args.radius * math.cos(angle), args.radius * math.sin(angle), 0.5)
            bpy.ops.mesh.primitive_cylinder_add(radius=0.1, depth=1, vertices=12, location=place)
            bpy.context.active_object.name = f"Post_{number:02d}"
            print(bpy.context.active_object.name)
    bpy.context.scene["posts"] = said.getvalue().splitlines()
    return 0


if __name__ == "__main__":
    sys.exit(main())
