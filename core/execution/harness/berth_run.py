# Rides along with a Python program. The program itself is run by the plain interpreter as it is:
# this module is found as `sitecustomize` before the program starts, takes its own traces out of the
# environment and the path again, and waits for the interpreter's end. So no line of the program
# moves, no frame is added to its tracebacks, and threads, exit codes and signals are the
# interpreter's own.
#
# What the program leaves (its `result`, its `chart`, its figures, its error) is appended to a private
# file. Nothing here may disturb the program: every fault of this module ends in silence or a note.
#
# A provider that forks its interpreters may run all of this ahead, with `_AHEAD` set among its globals
# and `__name__` and `__builtins__` as an import has them, and call `_start` once there is a program.
import atexit
import builtins
import sys

# Functions below resolve built-in names here, so that a program may rebind its own.
__builtins__ = dict(vars(builtins))

import posix as _os

_MODULES = sys.modules
_ROOM_BYTES = 65536
_STATE = {"opened": False, "report": None, "figures": False, "busy": False}
_CODE = {}

# Compiled only when there is something to report: most programs do not pay for it.
_REPORT_SOURCE = "@BERTH_REPORT@"
_FIGURES_SOURCE = "@BERTH_FIGURES@"


def _append(kind, header, blob=b""):
    """Adds one record: its kind and sizes on a line, a JSON object, then raw bytes."""
    head = header.encode("utf-8", "replace")
    record = b"%s %d %d\n%s\n%s\n" % (kind.encode(), len(head), len(blob), head, blob)
    flags = _os.O_WRONLY | _os.O_CREAT | _os.O_APPEND | _os.O_CLOEXEC | _os.O_NOFOLLOW
    if not _STATE["opened"]:
        _use_room()
    descriptor = _os.open(_PATH, flags, 0o600)
    try:
        if not _STATE["opened"]:
            _STATE["opened"] = True
            record = b"berth-result 1 %s\n" % _NONCE.encode() + record
        before = _os.lseek(descriptor, 0, 2)
        try:
            while record:
                record = record[_os.write(descriptor, record):]
        except OSError:
            # Half a record would hide what comes after it, such as the note of this very fault.
            _os.ftruncate(descriptor, before)
            _STATE["opened"] = before > 0
            raise
    finally:
        _os.close(descriptor)


def _keep_room():
    """A program may fill its disk or use up its files; what it leaves is to be told all the same."""
    flags = _os.O_WRONLY | _os.O_CREAT | _os.O_EXCL | _os.O_CLOEXEC | _os.O_NOFOLLOW
    try:
        descriptor = _os.open(_ROOM, flags, 0o600)
        try:
            _os.posix_fallocate(descriptor, 0, _ROOM_BYTES)
        finally:
            _os.close(descriptor)
    except OSError:
        pass


def _use_room():
    """The room becomes the record, unless the program has put something in its place."""
    try:
        flags = _os.O_WRONLY | _os.O_TRUNC | _os.O_CLOEXEC | _os.O_NOFOLLOW
        _os.close(_os.open(_ROOM, flags))
        _os.link(_ROOM, _PATH)
    except OSError:
        pass
    try:
        _os.unlink(_ROOM)
    except OSError:
        pass


def _free_descriptors():
    """Gives up the last descriptors of a program that has used up all of them."""
    try:
        _os.close(_os.dup(2))
        return
    except OSError as fault:
        if fault.errno != 24:  # EMFILE
            return
    given_up = 0
    for descriptor in range(min(_os.sysconf("SC_OPEN_MAX"), 65536) - 1, 2, -1):
        try:
            _os.close(descriptor)
        except OSError:
            continue
        given_up += 1
        if given_up == 4:
            return


def _compiled(part):
    if part not in _CODE:
        source = _REPORT_SOURCE if part == "report" else _FIGURES_SOURCE
        _CODE[part] = compile(source, __file__, "exec")
    return _CODE[part]


def _report():
    """The second half of this module, as a namespace."""
    if _STATE["report"] is None:
        space = {
            "__name__": "berth_report",
            "__builtins__": __builtins__,
            "append": _append,
            "main": _MAIN,
            "pid": _PID,
            "home": _STATE["home"],
        }
        exec(_compiled("report"), space)
        _STATE["report"] = space
    return _STATE["report"]


def _figures():
    space = _report()
    if not _STATE["figures"]:
        exec(_compiled("figures"), space)
        _STATE["figures"] = True
    return space


class _Finder:
    """Patches the parts of matplotlib that make and end figures, once they are imported."""

    names = frozenset(
        (
            "matplotlib._pylab_helpers",
            "matplotlib.backend_bases",
            "matplotlib.figure",
            "matplotlib.font_manager",
        )
    )

    def find_spec(self, name, path=None, target=None):
        if name not in self.names or _os.getpid() != _PID:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        loader = self._loader
        module.__spec__.loader = module.__loader__ = loader
        loader.exec_module(module)
        try:
            _figures()["patch"](module)
        except Exception:
            pass


def _wanted():
    """Whether the program left anything that must be told."""
    return (
        "result" in _MAIN
        or "results" in _MAIN
        or "chart" in _MAIN
        or getattr(sys, "last_exc", None) is not None
        or getattr(sys, "last_value", None) is not None
        or _STATE["report"] is not None
    )


def _at_exit():
    if _os.getpid() != _PID or _STATE["busy"]:
        return
    _STATE["busy"] = True
    try:
        if _wanted():
            _free_descriptors()
            _report()["finish"]()
    except BaseException as fault:
        try:
            name = type(fault).__name__
            _append("note", '{"text":"the result could not be collected: %s"}' % name)
        except BaseException:
            pass


def _next_site():
    """The image's own sitecustomize, which this module stands in front of."""
    known = _STATE.get("next")
    if known is not None:
        known()
        return
    for finder in list(sys.meta_path):
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None and spec.loader is not None:
            module = type(sys)("sitecustomize")
            module.__spec__ = spec
            module.__file__ = spec.origin
            module.__loader__ = spec.loader
            _MODULES["sitecustomize"] = module
            spec.loader.exec_module(module)
            return


def _start():
    global _NONCE, _PATH, _PID, _MAIN, _HERE, _ROOM
    fields = _os.environ.get(b"BERTH_RUN", b"").split(b":", 1)
    _NONCE = fields[0].decode("ascii", "replace")
    _PATH = fields[-1]
    _ROOM = _PATH + b".room"
    _PID = _os.getpid()
    _MAIN = vars(sys.modules["__main__"])
    _HERE = __file__.rpartition("/")[0]
    while _HERE in sys.path:
        sys.path.remove(_HERE)
    sys.path_importer_cache.pop(_HERE, None)
    sys.dont_write_bytecode = False
    rest = [p for p in _os.environ.get(b"PYTHONPATH", b"").split(b":") if p != _HERE.encode()]
    import os

    _STATE["home"] = os.__file__.rpartition("/")[0]
    for name in ("BERTH_RUN", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        os.environ.pop(name, None)
    if any(rest):
        os.environ["PYTHONPATH"] = b":".join(rest).decode("utf-8", "surrogateescape")
    _keep_room()
    atexit.register(_at_exit)
    sys.meta_path.insert(0, _Finder())
    try:
        _next_site()
    except ImportError:
        pass


if "_AHEAD" in globals():
    _compiled("report"), _compiled("figures")
else:
    _start()
