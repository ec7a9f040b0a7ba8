# SPDX-License-Identifier: GPL-3.0-or-later
"""`os`, `pathlib`, `sys`, `argparse`, `logging`: what is pure works as in Python, what touches a file is refused."""

from __future__ import annotations

import contextlib
import io
import posixpath
import re

import pytest

from support.sandboxing.language import refusal, run

SAME = {
    "os.path": """
import os
import os.path as p
from os.path import join, splitext
print(join("a", "b", "../c.png"), p.basename("/x/y.blend"), p.dirname("/x/y.blend"), splitext("a/b.tar.gz"))
print(p.split("/a/b"), p.normpath("a//b/../c"), p.isabs("/a"), p.commonpath(["/a/b", "/a/c"]), p.splitdrive("c:/x"))
print(os.sep, repr(os.linesep), os.pathsep, os.curdir, os.extsep, os.path.sep, p.relpath("/a/b", "/a/c"))
print(os.environ.get("NO_SUCH_VARIABLE"), os.getenv("NO_SUCH_VARIABLE", "x"), os.fspath("a"))
""",
    "pathlib": """
from pathlib import Path, PurePath
p = Path("/a/b") / "c.tar.gz"
print(p, p.name, p.stem, p.suffix, p.suffixes, p.parts, p.parent, p.anchor, p.as_posix(), p.is_absolute())
print(p.with_suffix(".png"), p.with_name("x"), p.with_stem("y"), p.joinpath("d", "e"), str(p.parent.parent))
print([str(each) for each in p.parents], p.relative_to("/a"), p == Path("/a/b/c.tar.gz"), Path("b") < Path("c"))
print("x" / Path("y"), f"{p}", len({p, Path("/a/b/c.tar.gz")}), isinstance(p, Path), Path("a", "b"), Path())
print(repr(PurePath("a")).endswith("Path('a')"), p.is_relative_to("/a"), sorted([Path("b"), Path("a")])[0])
""",
    "sys": """
import sys
print(sys.version_info >= (3, 10), sys.version_info.major, sys.version_info[0], sys.maxsize, sys.platform)
print(sys.float_info.epsilon, sys.byteorder, "--" in sys.argv, len(sys.argv[1:]))
sys.setrecursionlimit(2000)
sys.stdout.write("written\\n")
print("to stdout", file=sys.stdout)
sys.stdout.flush()
""",
    "argparse": """
import argparse, sys
argv = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
parser = argparse.ArgumentParser(description="x", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--output", default=None, help="a %(default)s")
parser.add_argument("--size", "-s", type=float, default="2.5")
parser.add_argument("--no-render", action="store_true")
parser.add_argument("--keep", action="store_false", dest="kept")
parser.add_argument("names", nargs="*")
group = parser.add_argument_group("more")
group.add_argument("--engine", choices=("eevee", "cycles"), default="eevee")
parser.set_defaults(level=3)
args = parser.parse_args(argv)
print(args.output, args.size, args.no_render, args.kept, args.names, args.engine, args.level)
known, rest = parser.parse_known_args([])
print(known.size, rest, hasattr(known, "missing"), getattr(args, "missing", 5))
""",
    "vars": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=3)
class Part:
    kind = "box"
    def __init__(self, name):
        self.name, self._hidden = name, 1
    def __repr__(self):
        return ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
class Bird:
    def __init__(self, **values):
        self.__dict__.update(values)
        self.__dict__.update({"wings": 2}, legs=2)
        vars(self).update(values)
print(vars(Bird(beak=1.5, name="owl")))
print(vars(parser.parse_args([])), Part("a"), sorted(vars(Part("b"))), "kind" in vars(Part("c")))
""",
    "globals": """
import math
_scale = 2
def build(size): return size * _scale
class Part: pass
g = globals()
make = g.get("construct") or g.get("build")
print(make(3), "missing" in globals(), "Part" in g, g["_scale"], "build" in locals(), g.get("math") is math)
def inside(): return "g" in globals()
print(inside(), sorted(name for name in globals() if name.isidentifier() and not name.startswith("__"))[:3])
""",
    "io": """
import contextlib, io, sys
from contextlib import redirect_stdout
buffer = io.StringIO()
with redirect_stdout(buffer) as same:
    print("kept", 1)
    sys.stdout.write("and written")
print("asked for", file=buffer)
print(same is buffer, repr(buffer.getvalue()), buffer.tell())
with io.StringIO("a\\nb\\n") as text:
    print(text.readline(), [line.strip() for line in text], repr(text.read()), text.seek(0), text.readlines())
with contextlib.redirect_stderr(io.StringIO()) as errors:
    print("gone", file=sys.stderr)
print(errors.getvalue(), buffer.write("x"), buffer.truncate(3))
buffer.writelines(["p", "q"])
print(buffer.seek(0, io.SEEK_END) > 0, buffer.isatty(), buffer.flush())
""",
    "encodings": """
import base64, unicodedata
print(base64.b64encode(b"abc"), base64.b64decode("YWJj"), base64.urlsafe_b64encode(b"??"), base64.b16encode(b"a"))
print(unicodedata.normalize("NFKD", "é"), unicodedata.category("a"), unicodedata.name("é"))
""",
    "struct": """
import struct
data = struct.pack("<2fHx", 1.5, -2, 7) + struct.pack(b">i", -3)
print(data, struct.calcsize("<2fHx"), struct.unpack("<2fHx", data[:11]), struct.unpack_from(">i", data, 11))
pair = struct.Struct("<2H")
buffer = bytearray(8)
pair.pack_into(buffer, 2, 7, 8)
print(buffer, pair.size, pair.format, list(pair.iter_unpack(buffer)), pair.unpack(b"abcd"))
print(isinstance(pair, struct.Struct))
for wrong in (("<H", b"a"), ("no such", b"a")):
    try:
        struct.unpack(*wrong)
    except struct.error as error:
        print(error)
""",
    "platform": """
import platform, shutil
print(platform.system(), platform.python_version(), shutil.which("no-such-program"))
""",
    "a script about itself": """
__all__ = ["f"]
__version__ = "1.2"
__author__ = "somebody"
def f():
    return __version__
print(__name__, f(), __all__, __author__)
if __name__ == "__main__":
    print("runs")
""",
    "star imports": """
from math import *
from random import *
from collections import *
seed(1)
print(sin(pi / 2), floor(2.7), pow(2, 3), randint(1, 6), Counter("aab").most_common(1), hypot(3, 4))
""",
    "super of a class": """
class A:
    def __init__(self, x):
        self.x = x
    def show(self):
        return f"A{self.x}"
class B(A):
    def __init__(self, x):
        super(B, self).__init__(x + 1)
    def show(self):
        return "B" + super(B, self).show()
    @classmethod
    def make(cls):
        return cls(5)
print(B(1).show(), B.make().show())
""",
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["blender"])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(SAME[name], "<plain>", "exec"), {"__name__": "__main__"})
    assert run(SAME[name]).output == out.getvalue()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("vars()", "vars() takes one value"),
        ("class A: pass\nvars(A()).setdefault('x', 1)", "use setattr() or update()"),
        ("class A: pass\nA().__dict__.update(__reduce_ex__=1)", "'__reduce_ex__' is not available"),
        ("class A: pass\nvars(A()).update({'__class__': 1})", "'__class__' cannot be set"),
        ("import math\nmath.__dict__.update(pi=3)", "cannot be set"),
        ("class A: pass\nvars(A())['x'] = 1", "use setattr() or update()"),
        ("class A: pass\nA().__dict__", "use vars(value)"),
        ("globals()['x'] = 1", "assign to the variable by its name"),
        ("globals().update(x=1)", "assign to the variable by its name"),
        ("locals()['x'] = 1", "assign to the variable by its name"),
        ("def f(): return locals()", "use the variables by name"),
        ("import io\nio.open('x')", "import_file"),
        ("import io\nio.BytesIO()", "b''.join(parts)"),
    ],
)
def test_what_has_no_effect_or_no_file_is_refused_with_what_to_use(source: str, words: str) -> None:
    assert words in str(refusal(source))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("vars(3)", "use dir() and getattr()"),
        ("vars(dict)", "use dir() and getattr()"),
        ("class A: pass\nA().__dict__.update([('x', 1)])", "updated from a dict"),
        ("class A: pass\nA().__dict__.update({1: 1})", "attribute name must be string"),
        ("class A: pass\nvars(A()).update({}, {})", "expected at most 1 argument, got 2"),
        ("import io\nio.StringIO().write(b'x')", "must be str, not bytes"),
        ("import io\nio.StringIO('a').seek(10**9)", "not beyond its end"),
        ("import contextlib\ncontextlib.redirect_stdout([])", "into an io.StringIO()"),
    ],
)
def test_wrong_values_for_buffers_and_vars_are_errors_of_the_script(source: str, words: str) -> None:
    code = f"try:\n    {source.splitlines()[-1]}\nexcept (TypeError, ValueError) as error:\n    result = str(error)"
    assert words in run("\n".join([*source.splitlines()[:-1], code]))["result"]


def test_text_in_memory_has_a_bounded_length() -> None:
    assert "limit" in str(refusal("import io\nb = io.StringIO()\nwhile True:\n    b.write('x' * 1_000_000)"))


def test_a_script_sees_no_folder_of_the_machine() -> None:
    ran = run(
        "import os, sys\nfrom pathlib import Path\n"
        "result = [os.getcwd(), os.path.abspath('a'), os.path.expanduser('~/x'), str(Path.cwd()), str(Path.home()),\n"
        "  str(Path('x').resolve()), dict(os.environ), sys.path, sys.argv, __file__, os.path.expandvars('$HOME'),\n"
        "  str(Path(__file__).parent / 'out.png')]"
    )
    assert ran["result"] == [
        *("/", "/a", "~/x", "/", "/", "x", {}, [], ["blender"], "/script.py", "$HOME", "/out.png")
    ]


def test_temporary_folders_are_names() -> None:
    ran = run(
        "import tempfile, sys\nresult = [tempfile.gettempdir(), tempfile.mkdtemp(), tempfile.mkdtemp('s', 'p', '/d'),\n"
        "  sys.executable]"
    )
    assert ran["result"] == ["/tmp", "/tmp/tmp", "/d/ps", ""]
    assert "makes no folders" in ran.warnings[0]


@pytest.mark.parametrize("source", ["struct.pack('900000000x')", "struct.calcsize('i' * 20_000)"])
def test_a_struct_has_a_bounded_length(source: str) -> None:
    assert "over the limit" in str(refusal(f"import struct\n{source}")) or "at most" in str(
        refusal(f"import struct\n{source}")
    )


def test_files_are_not_there_and_folders_not_made_and_the_result_says_so() -> None:
    ran = run(
        "import os\nfrom pathlib import Path\n"
        "result = [os.path.exists('/'), os.path.isdir('/etc'), Path('/').exists(), Path('/etc').is_dir()]\n"
        "os.makedirs('/never', exist_ok=True)\nPath('/never').mkdir(parents=True)"
    )
    assert ran["result"] == [False] * 4
    assert not posixpath.exists("/never")
    assert len(ran.warnings) == 2
    assert "list_files" in ran.warnings[0]
    assert "render_image" in ran.warnings[1]


@pytest.mark.parametrize(
    ("source", "instead"),
    [
        ("open('x')", "import_file"),
        ("f = open\nf('x', 'w')", "export_file"),
        ("import os\nos.remove('x')", "remove_file"),
        ("import os\nos.listdir('.')", "list_files"),
        ("import os\nos.system('true')", "write what they would do in Python"),
        ("import os\nos.rename('a', 'b')", "save_file"),
        ("from pathlib import Path\nPath('x').write_text('y')", "the variable result"),
        ("from pathlib import Path\nPath('x').open()", "import_file"),
        ("from pathlib import Path\nlist(Path('x').iterdir())", "list_files"),
        ("import shutil\nshutil.rmtree('/')", "remove_file"),
        ("import tempfile\ntempfile.NamedTemporaryFile()", "keep data in the script"),
        ("import platform\nplatform.node()", "use sys.platform"),
        ("import zlib", "write what it does in the script"),
        ("from urllib.request import urlopen", "search_polyhaven_assets"),
        ("import json\njson.load(None)", "json.loads"),
        ("import sys\nsys.stdin.read()", "ask the user"),
        ("import logging\nlogging.FileHandler('x')", "leave the handler out"),
        ("import argparse\nargparse.ArgumentParser().parse_args(['--x'])", "set the values in the script"),
    ],
)
def test_what_touches_a_file_is_refused_when_called(source: str, instead: str) -> None:
    assert instead in str(refusal(source))


@pytest.mark.parametrize(
    "module",
    "subprocess socket glob io threading ctypes pickle urllib.request gpu blf".split(),
)
def test_a_module_without_use_can_be_imported(module: str) -> None:
    assert run(f"import {module}\nimport {module} as m\nresult = 1")["result"] == 1


def test_what_blender_does_not_bring_is_not_found() -> None:
    ran = run(
        "try:\n    import no_such_package\nexcept ImportError as error:\n    result = str(error)\n"
        "try:\n    from no_such_package.part import x\nexcept ModuleNotFoundError as error:\n    result += error.name"
    )
    assert "no_such_package is not allowed" in ran["result"]
    assert ran["result"].endswith("no_such_package.part")


@pytest.mark.parametrize(
    "statement", ["from . import x", "from .parts import x as y", "from ..a.b import x", "from .a import *"]
)
def test_a_relative_import_fails_as_in_blender(statement: str) -> None:
    ran = run(
        f"try:\n    {statement}\nexcept ImportError as error:\n    result = str(error)\n"
        "def never():\n    from .parts import x\n    return x"
    )
    assert re.fullmatch(r"import \.\S* is not allowed: a script belongs to no package: .*", ran["result"])


@pytest.mark.parametrize(
    "source",
    [
        "exit()\nprint('no')",
        "import sys\nsys.exit(0)\nprint('no')",
        "raise SystemExit\nprint('no')",
        "try:\n    exit()\nexcept Exception:\n    print('no')\nprint('no')",
        "def f():\n    quit()\nf()\nprint('no')",
    ],
)
def test_exit_is_the_end(source: str) -> None:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the run turns it into its end, or an error
        run(source)
    assert type(caught.value).__name__ == "SystemExit"
    assert not isinstance(caught.value, SystemExit)


def test_exit_can_be_caught() -> None:
    ran = run("try:\n    exit(3)\nexcept SystemExit as end:\n    result = [end.code, end.args]")
    assert ran["result"] == [3, (3,)]


def test_logging_is_printed() -> None:
    ran = run(
        "import logging\nlog = logging.getLogger('my.part')\nlog.info('no')\nlog.warning('w %s', 1)\n"
        "logging.basicConfig(level=logging.INFO, format='%(asctime)s [%(levelname)s] %(message)s', handlers=[])\n"
        "log.info('i %(a)s', {'a': 2})\nlogging.getLogger('my').setLevel('ERROR')\nlog.warning('no')\n"
        "logging.error('e')\nlog.addHandler(logging.StreamHandler())\nlog.debug('no')"
    )
    assert ran.output == "WARNING:my.part:w 1\nINFO] i 2\nERROR] e\n"


@pytest.mark.parametrize(
    "source",
    [
        "from pathlib import Path\nPath('a').x = 1",
        "from pathlib import Path\nPath('a').joinpath = 1",
        "from pathlib import Path\nPath('a')._pure",
        "import sys\nsys.stdout.write = 1",
        "import sys\nsys.exit = 1",
        "import os\nos.path.join = 1",
        "import logging\nlogging.getLogger('a').name = 1",
        "import argparse\nargparse.ArgumentParser().add_argument('--__class__')",
        "import argparse\nargparse.ArgumentParser().set_defaults(__class__=int) or argparse.ArgumentParser()\n"
        "p = argparse.ArgumentParser()\np.set_defaults(__class__=int)\np.parse_args()",
        "class E(SystemExit): pass",
        "SystemExit.code = 1",
        "print(file=open)",
    ],
)
def test_nothing_of_it_can_be_changed(source: str) -> None:
    with pytest.raises(Exception, match=r"no attribute|cannot|may not|not available|no files|read-only"):
        run(source)


@pytest.mark.parametrize(
    "source",
    [
        "from pathlib import Path\nPath('a' * 100_000)",
        "import os\nos.path.join('a' * 9_000, 'b' * 9_000)",
        "import logging\nlogging.basicConfig(format='%(message)s' * 90)\nlogging.error('x' * 9_000_000)",
        "import base64\nbase64.b64encode(b'x' * 9_000_000)",
        "import unicodedata\nunicodedata.normalize('NFKD', '\\ufdfa' * 1_000_000)",
    ],
)
def test_sizes_are_limited(source: str) -> None:
    assert "over the limit" in str(refusal(source))
