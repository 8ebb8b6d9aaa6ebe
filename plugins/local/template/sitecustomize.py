# The Python half of a template. The interpreter finds it as `sitecustomize`, before it would run its
# program: here it imports what programs import, and stops. Every interpreter forked from it returns from
# this module with the program of its own sandbox and goes on as any interpreter does, so that exit codes,
# tracebacks and signals are Python's own.
import sys

BASELINE = set(sys.modules)

import builtins
import ctypes
import gc
import io
import os

import ending
import harness
import interpreter
import shelf

FOLDER = os.path.dirname(__file__)
PACKAGES = ("numpy", "pandas", "matplotlib", "matplotlib.pyplot", "json", "re", "math", "random",
            "datetime", "collections", "itertools", "functools", "statistics", "csv", "io", "traceback",
            "linecache", "logging", "warnings", "weakref", "atexit", "tokenize", "textwrap", "string",
            "decimal", "fractions", "time", "typing", "dataclasses")
# A variable that was read while the interpreter started or a package was imported has to be what it was
# then. These start such names; those in FREE are taken from every program.
READ_EARLY = ("PYTHON", "LD_", "LC_", "LANG", "MPL", "MATPLOTLIB", "OMP_", "OPENBLAS_", "MKL_", "BLIS_",
              "NUMEXPR_", "NPY_", "NUMPY_", "MALLOC_", "GLIBC_", "TZ", "HOME", "PATH", "OPENSSL_", "SSL_")
FREE = ("PYTHONPATH",)
FIRST_STEPS = b"""
import sys
def f(x, *rest, **named):
    return [str(x) + '%d' % y for y in range(2)]
class A:
    def __init__(self): self.x = {'a': 1.5}
try:
    f(A().x), sys.nothing
except AttributeError:
    pass
print(1)
"""


def use_packages():
    """Imports what programs import, and takes the first steps of it, which are the slow ones."""
    imports = shelf.Imports()
    builtins.__import__ = imports
    try:
        for name in PACKAGES:
            try:
                imports(name)
            except ImportError:
                pass
    finally:
        builtins.__import__ = imports.original
    edges = imports.edges
    modules = {name: module for name, module in sys.modules.items()
               if name not in BASELINE and module is not None}
    try:
        plot = sys.modules["matplotlib.pyplot"]
        numbers = sys.modules["numpy"]
        frame = sys.modules["pandas"].DataFrame(numbers.arange(8).reshape(4, 2))
        frame.describe().to_string()
        figure = plot.figure()
        plot.plot([1, 2])
        figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
        plot.close(figure)
        # A font is an open file, which no interpreter of another sandbox may have.
        sys.modules["matplotlib.font_manager"]._get_font.cache_clear()
    except (KeyError, ImportError):
        pass
    for name, module in sys.modules.items():
        if name not in BASELINE and module is not None:
            modules.setdefault(name, module)
    return modules, edges


def fits(arguments, environment, own):
    """Whether this interpreter is what a fresh one would be."""
    if len(arguments) < 2 or arguments[1].startswith("-") or not arguments[1]:
        return False
    names = {name for name in (*environment, *own) if name.startswith(READ_EARLY) and name not in FREE}
    if any(environment.get(name) != own.get(name) for name in names):
        return False
    home = environment.get("HOME", "")
    return not os.path.exists("%s/.local/lib/python%d.%d" % (home, *sys.version_info[:2]))


def load():
    native = ctypes.PyDLL(FOLDER + "/fork.so")
    native.berth_template_argument.restype = ctypes.c_char_p
    native.berth_template_variable.restype = ctypes.c_char_p
    native.berth_template_configure.argtypes = (
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    return native


def take_command(native, socket):
    """Waits for it: its arguments and its environment."""
    count = native.berth_template_await(socket)
    arguments = [os.fsdecode(native.berth_template_argument(i)) for i in range(count)]
    environment = {}
    index = 0
    while (variable := native.berth_template_variable(index)) is not None:
        name, _, value = os.fsdecode(variable).partition("=")
        environment[name] = value
        index += 1
    return arguments, environment


def put_aside(modules, kept, native):
    for name in list(sys.modules):
        if name not in BASELINE:
            del sys.modules[name]
    # Never freed: at the end of a program that used none of it there is nothing to take apart.
    for one in (modules, *kept):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    gc.collect()
    # Three streams, the control socket, and the folder that is being read.
    if len(os.listdir("/proc/self/fd")) != 5 or len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the imported packages keep a file open or a thread running")
    gc.freeze()
    native.berth_template_fill()
    native.berth_template_seal(*map(ctypes.c_void_p, interpreter.heap()))
    interpreter.join_pages()


def serve():
    own = {name: value for name, value in os.environ.items() if name not in FREE}
    while FOLDER in sys.path:
        sys.path.remove(FOLDER)
    sys.path_importer_cache.pop(FOLDER, None)
    native = load()
    native.berth_template_gather()
    end = ending.Ending(native)
    configuration = interpreter.Configuration()
    area, room = interpreter.arguments_area()
    modules, edges = use_packages()
    seeded = interpreter.generators()
    site = harness.Harness(FOLDER + "/harness.txt", sys.path)
    packages = shelf.Shelf(modules, edges, interpreter.renewals(seeded, modules))
    put_aside(modules, (packages, end, configuration, seeded, site), native)

    python = ctypes.pythonapi
    ahead = harness.First(own, site)
    python.PyOS_BeforeFork()
    learning = native.berth_template_learn() == 1
    if not learning:
        python.PyOS_AfterFork_Parent()
        ahead.remove()
        python.PyOS_BeforeFork()
        socket = native.berth_template_serve(3)
    python.PyOS_AfterFork_Child()
    interpreter.reseed(modules)
    streams = interpreter.streams()
    paths = [getattr(finder, "__name__", "") for finder in sys.meta_path].index("PathFinder")
    sys.meta_path.insert(paths, packages)
    # Where there is time, once for nothing: what the way to a program writes to is copied now.
    own_arguments = ["python3", *sys.argv]
    if (learning or native.berth_template_has_time()) and fits(own_arguments, own, own):
        configuration.set(native, sys.argv)
        become(own_arguments, own, streams)
        rehearse(end, packages, site)
    if learning:
        arguments, environment = ahead.command
        os.chdir(ahead.folder)
    else:
        arguments, environment = take_command(native, socket)
    if not fits(arguments, environment, own):
        native.berth_template_execute()
    if not learning:
        native.berth_template_become(ctypes.c_void_p(area), ctypes.c_size_t(room))
    configuration.set(native, arguments[1:])
    become(arguments, environment, streams)
    run_site(environment, site)
    interpreter.know_as_file(arguments[1])
    end.begin(packages)


def rehearse(end, packages, site):
    # Its end takes names apart and its steps leave some: none of that may be the program's own module.
    main = sys.modules["__main__"]
    stand_in = type(sys)("__main__")
    vars(stand_in).update(vars(main))
    sys.modules["__main__"] = stand_in
    site.rehearse()
    stream = sys.stdout
    with open(os.devnull, "w") as sys.stdout:
        interpreter.run_text(FIRST_STEPS)
    sys.stdout = stream
    end.begin(packages)
    end.exit_code()
    end.take_apart()
    end.inherited = None
    sys.modules["__main__"] = main


def become(arguments, environment, streams):
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    for name, value in environment.items():
        os.environ[name] = value
    sys.argv = arguments[1:]
    sys.orig_argv = arguments[:]
    for name, stream in streams.items():
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
    # What was there before the fork is never collected, but the end of a program takes its names apart.
    main = type(sys)("__main__")
    vars(main).update(vars(sys.modules["__main__"]))
    main.__annotations__ = {}
    sys.modules["__main__"] = main


def run_site(environment, own):
    """What Python does for a site after this: the program's own folders and its own customization."""
    paths = environment.get("PYTHONPATH", "")
    folders = [os.path.abspath(folder) for folder in paths.split(":")] if paths else []
    sys.path[:0] = folders
    for name in ("sitecustomize", "usercustomize"):
        sys.modules.pop(name, None)
    if own.is_in(folders):
        own.start(folders[0])
    else:
        import site

        site.execsitecustomize()
    # The import of this very module ends by putting what is here in its place.
    sys.modules.setdefault("sitecustomize", type(sys)("sitecustomize"))


try:
    serve()
except BaseException:
    # An interpreter whose state is half of a program's must not go on as one.
    import traceback

    traceback.print_exc()
    os._exit(1)
