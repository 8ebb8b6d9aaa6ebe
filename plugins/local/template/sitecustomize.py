# The Python half of a template. The interpreter finds it as `sitecustomize`, before it would run its
# program: here it imports what programs import, and stops. Every interpreter forked from it returns from
# this module with the program of its own sandbox and goes on as any interpreter does, so that exit codes,
# tracebacks and signals are Python's own.
#
# What was imported is put on a shelf and comes back when the program imports it, so that a program sees
# the modules it would see anyway, and a file of its own with such a name wins as it does anyway.
import sys

BASELINE = set(sys.modules)

import gc
import os

FOLDER = os.path.dirname(__file__)
# A variable that was read while the interpreter started or a package was imported has to be what it was
# then. These start such names; those in FREE are taken from every program.
READ_EARLY = ("PYTHON", "LD_", "LC_", "LANG", "MPL", "MATPLOTLIB", "OMP_", "OPENBLAS_", "MKL_", "BLIS_",
              "NUMEXPR_", "NPY_", "NUMPY_", "MALLOC_", "GLIBC_", "TZ", "HOME", "PATH", "OPENSSL_", "SSL_")
FREE = ("PYTHONPATH",)


class Imports:
    """Which module imports which, seen while the packages are imported."""

    def __init__(self):
        self.edges = {}
        self.original = __import__

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        module = self.original(name, globals, locals, fromlist, level)
        importer = (globals or {}).get("__name__")
        if importer is not None:
            package = (globals or {}).get("__package__") or importer
            base = package.rsplit(".", level - 1)[0] if level > 1 else package
            full = name if level == 0 else (base + "." + name if name else base)
            wanted = self.edges.setdefault(importer, set())
            wanted.add(full)
            for item in fromlist or ():
                child = "%s.%s" % (full, item)
                if child in sys.modules:
                    wanted.add(child)
        return module


class ShelfLoader:
    def __init__(self, module):
        self.module = module
        self.spec = module.__spec__
        self.loader = getattr(module, "__loader__", None)

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        self.spec._initializing = False
        module.__spec__ = self.spec
        if self.loader is not None:
            module.__loader__ = self.loader


class Shelf:
    """Gives back imported modules, with all that their import would have brought in."""

    def __init__(self, modules, edges):
        from importlib.machinery import ModuleSpec, PathFinder

        self.spec = ModuleSpec
        self.modules = modules
        self.edges = edges
        self.closures = {}
        self.tops = {name.partition(".")[0] for name in modules}
        self.homes = {}
        for top in self.tops:
            spec = getattr(modules.get(top), "__spec__", None)
            origin = getattr(spec, "origin", None)
            if origin and "/" in origin:
                folder = origin.rpartition("/")[0]
                self.homes[top] = folder.rpartition("/")[0] if spec.submodule_search_locations else folder
        self.known = list(sys.meta_path)
        self.folders = set(self.homes.values())
        self.listed = set()
        self.usable = True

    def closure(self, name):
        if name not in self.closures:
            found, left = [], [name]
            seen = set(left)
            while left:
                one = left.pop()
                found.append(one)
                parent = one.rpartition(".")[0]
                for other in [parent, *self.edges.get(one, ())]:
                    if other not in seen and other in self.modules:
                        seen.add(other)
                        left.append(other)
            self.closures[name] = found
        return self.closures[name]

    def hidden(self, top):
        """Whether something of the program's own may stand before the packages."""
        home = self.homes.get(top)
        for entry in sys.path:
            if entry == home:
                return not self.usable
            if entry in self.listed or entry in self.folders:
                continue
            self.listed.add(entry)
            try:
                names = os.listdir(entry or ".")
            except FileNotFoundError:
                continue
            except OSError:
                self.usable = False  # an archive, or a folder that is not to be read
                continue
            if not self.tops.isdisjoint(name.partition(".")[0] for name in names):
                self.usable = False
        return home is not None or not self.usable

    def find_spec(self, name, path=None, target=None):
        module = self.modules.get(name)
        if module is None or name in sys.modules or self.hidden(name.partition(".")[0]):
            return None
        parent = name.rpartition(".")[0]
        if parent and sys.modules.get(parent) is not self.modules.get(parent, parent):
            return None
        self.restore(name)
        return self.spec(name, ShelfLoader(module), origin=getattr(module.__spec__, "origin", None))

    def restore(self, name):
        missing = [other for other in self.closure(name) if other != name and other not in sys.modules]
        for other in missing:
            sys.modules[other] = self.modules[other]
        for finder in sys.meta_path:
            if finder is not self and not any(finder is one for one in self.known):
                for other in missing:
                    self.show(finder, other)

    def show(self, finder, name):
        """A finder of the program that waits for this module gets to see it as it would otherwise."""
        module = sys.modules.pop(name)
        try:
            spec = finder.find_spec(name, None)
            if spec is not None and spec.loader is not None:
                module.__spec__ = spec
                spec.loader.exec_module(module)
        finally:
            sys.modules[name] = module


def use_packages():
    """Imports what programs import, and takes the first steps of it, which are the slow ones."""
    import builtins

    imports = Imports()
    builtins.__import__ = imports
    try:
        for name in ("numpy", "pandas", "matplotlib", "matplotlib.pyplot", "json", "re", "math", "random",
                     "datetime", "collections", "itertools", "functools", "statistics", "csv", "io",
                     "traceback", "linecache", "logging", "warnings", "weakref", "atexit", "tokenize",
                     "textwrap", "string", "decimal", "fractions", "time", "typing", "dataclasses"):
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
        import io
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


class Configuration:
    """What the interpreter will run, which it decided when it started and reads when it is ready. Where
    that stands is found by the marker it was started with, so that no layout has to be known."""

    BYTES = 2048

    def __init__(self):
        import ctypes

        self.ctypes = ctypes
        self.python = ctypes.pythonapi
        self.python._Py_GetConfig.restype = ctypes.c_void_p
        self.base = self.python._Py_GetConfig()
        with open("/proc/self/maps") as maps:
            spans = [line.split(" ", 1)[0].split("-") for line in maps if " rw" in line]
        self.spans = [(int(first, 16), int(last, 16)) for first, last in spans]
        self.marker = sys.argv[0].encode("utf-32-le")
        words = [self.word(self.base + at) for at in range(0, self.BYTES, 8)]
        files = [at for at, word in enumerate(words) if self.is_marker(word)]
        # A list is its length and a pointer to pointers.
        lists = [at for at, word in enumerate(words[:-1])
                 if word == len(sys.argv) and self.is_marker(self.word(words[at + 1]))]
        if len(files) != 1 or len(lists) != 1:
            raise LookupError("this interpreter keeps its configuration in another way")
        self.file = self.base + 8 * files[0]
        self.list = self.base + 8 * lists[0]

    def readable(self, at, size):
        return at % 4 == 0 and any(first <= at and at + size <= last for first, last in self.spans)

    def word(self, at):
        return self.ctypes.c_uint64.from_address(at).value if self.readable(at, 8) else 0

    def is_marker(self, at):
        size = len(self.marker)
        return self.readable(at, size) and self.ctypes.string_at(at, size) == self.marker

    def set(self, arguments):
        """The command line without the interpreter's own name."""
        ctypes = self.ctypes

        class Status(ctypes.Structure):
            _fields_ = [("type", ctypes.c_int), ("func", ctypes.c_char_p),
                        ("message", ctypes.c_char_p), ("exit_code", ctypes.c_int)]

        self.python.PyConfig_SetString.restype = Status
        self.python.PyConfig_SetWideStringList.restype = Status
        items = (ctypes.c_wchar_p * len(arguments))(*arguments)
        config = ctypes.c_void_p(self.base)
        self.python.PyConfig_SetString(
            config, ctypes.c_void_p(self.file), ctypes.c_wchar_p(arguments[0]))
        self.python.PyConfig_SetWideStringList(
            config, ctypes.c_void_p(self.list), ctypes.c_ssize_t(len(arguments)), items)


def generators():
    """Everything that draws random numbers and was seeded before the fork."""
    kinds = []
    if "random" in sys.modules:
        kinds.append(sys.modules["random"].Random)
    if "numpy" in sys.modules:
        kinds.append(sys.modules["numpy"].random.RandomState)
    system = getattr(sys.modules.get("random"), "SystemRandom", ())
    kinds = tuple(kinds)
    return [one for one in gc.get_objects() if isinstance(one, kinds) and not isinstance(one, system)]


def reseed(seeded, modules):
    for generator in seeded:
        generator.seed()
    numbers = modules.get("numpy")
    if numbers is not None:
        numbers.random.seed()
    if "_ssl" in modules:
        modules["_ssl"].RAND_add(os.urandom(64), 64.0)
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "multiprocessing.process" in modules:
        process = modules["multiprocessing.process"]
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))
    if "logging" in modules:
        import time
        modules["logging"]._startTime = time.time()


def stream(number, like):
    import io

    writes = number != 0
    buffer = io.open(number, "wb" if writes else "rb", 0 if writes else -1, closefd=False)
    raw = buffer if writes else buffer.raw
    raw.name = like.name
    text = io.TextIOWrapper(buffer, like.encoding, like.errors, newline="\n", write_through=writes)
    text.mode = like.mode
    return text


def arguments_area():
    """Where the kernel reads the command line of this process."""
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[45]), int(fields[46]) - int(fields[45])


def fits(arguments, environment, own):
    """Whether this interpreter is what a fresh one would be."""
    if len(arguments) < 2 or arguments[1].startswith("-") or not arguments[1]:
        return False
    names = {name for name in (*environment, *own) if name.startswith(READ_EARLY) and name not in FREE}
    if any(environment.get(name) != own.get(name) for name in names):
        return False
    home = environment.get("HOME", "")
    return not os.path.exists("%s/.local/lib/python%d.%d" % (home, *sys.version_info[:2]))


def serve():
    import ctypes

    own = dict(os.environ)
    for name in ("PYTHONPATH",):
        own.pop(name, None)
    while FOLDER in sys.path:
        sys.path.remove(FOLDER)
    sys.path_importer_cache.pop(FOLDER, None)
    native = ctypes.PyDLL(FOLDER + "/fork.so")
    native.berth_template_argument.restype = ctypes.c_char_p
    native.berth_template_variable.restype = ctypes.c_char_p
    configuration = Configuration()
    area, room = arguments_area()
    modules, edges = use_packages()
    exec(compile("print(1, end='')\nimport sys", "<warm>", "exec"), {"print": lambda *a, **k: None})
    seeded = generators()
    shelf = Shelf(modules, edges)
    for name in ("matplotlib.pyplot", "pandas", "numpy", "json"):
        if name in modules:
            shelf.closure(name)
    for name in list(sys.modules):
        if name not in BASELINE:
            del sys.modules[name]
    # Never freed: at the end of a program that used none of it there is nothing to take apart.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(shelf))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))
    gc.collect()
    # Three streams, the control socket, and the folder that is being read.
    if len(os.listdir("/proc/self/fd")) != 5 or len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the imported packages keep a file open or a thread running")
    gc.freeze()

    ctypes.pythonapi.PyOS_BeforeFork()
    socket = native.berth_template_serve(3)
    ctypes.pythonapi.PyOS_AfterFork_Child()
    reseed(seeded, modules)
    count = native.berth_template_await(socket)
    arguments = [os.fsdecode(native.berth_template_argument(i)) for i in range(count)]
    environment = {}
    index = 0
    while (variable := native.berth_template_variable(index)) is not None:
        name, _, value = os.fsdecode(variable).partition("=")
        environment[name] = value
        index += 1
    if not fits(arguments, environment, own):
        native.berth_template_execute()
    native.berth_template_become(ctypes.c_void_p(area), ctypes.c_size_t(room))
    become(arguments, environment, configuration, shelf)


def become(arguments, environment, configuration, shelf):
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    for name, value in environment.items():
        os.environ[name] = value
    configuration.set(arguments[1:])
    sys.argv = arguments[1:]
    sys.orig_argv = arguments[:]
    sys.stdin = sys.__stdin__ = stream(0, sys.__stdin__)
    sys.stdout = sys.__stdout__ = stream(1, sys.__stdout__)
    sys.stderr = sys.__stderr__ = stream(2, sys.__stderr__)
    # What was there before the fork is never collected, but the end of a program takes its names apart.
    main = type(sys)("__main__")
    vars(main).update(vars(sys.modules["__main__"]))
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    paths = [getattr(finder, "__name__", "") for finder in sys.meta_path].index("PathFinder")
    sys.meta_path.insert(paths, shelf)
    folders = [os.path.abspath(folder) for folder in environment.get("PYTHONPATH", "").split(":")
               if environment.get("PYTHONPATH")]
    sys.path[:0] = folders
    for name in ("sitecustomize", "usercustomize"):
        sys.modules.pop(name, None)
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
