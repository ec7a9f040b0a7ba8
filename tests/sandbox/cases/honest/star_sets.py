a, b = [1, 2], {3, (4, 5)}
def union(*parts):
    return {*a, *b, *(x for p in parts for x in p)}
s = union("xy", [9])
d = {**{"k": 1}, "z": [*a, *b]}
result = sorted(map(str, s))
# check: len(g['s']) == 7 and g['d']['k'] == 1
