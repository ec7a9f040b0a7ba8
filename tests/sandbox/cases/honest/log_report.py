import bpy, json, time, math, re, textwrap
from itertools import groupby, chain, product
start = time.time()
stamp = time.strftime("%Y-%m-%d")
objs = sorted(bpy.data.objects, key=lambda o: o.type)
report = {k: [o.name for o in grp] for k, grp in groupby(objs, key=lambda o: o.type)}
names = [re.sub(r"\.\d{3}$", "", n) for n in chain.from_iterable(report.values())]
txt = bpy.data.texts.get("Report") or bpy.data.texts.new("Report")
txt.clear(); txt.write(json.dumps(report, indent=2, sort_keys=True) + "\n" + stamp)
for i, (k, v) in enumerate(report.items()): print(f"{i:>2}. {k:.<12} {', '.join(v)!s}")
for a, b in zip(objs, objs[1:]): print(a.name, (a.location - b.location).length)
match len(objs):
    case 0: kind = "empty"
    case 1 | 2: kind = "few"
    case n if n > 100: kind = "many"
    case _: kind = "some"
try:
    bpy.data.objects["nope"]
except KeyError as e:
    print("missing:", e)
result = report
# check: g['kind'] == 'some' and 'Report' in bpy.data.texts
