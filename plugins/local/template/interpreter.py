# This interpreter itself: what it will run, the streams and generators it has.
import ctypes
import gc
import io
import os
import sys
import time


class Configuration:
    """What the interpreter will run, which it decided when it started and reads when it is ready. Where
    that stands is found by the marker it was started with, so that no layout has to be known."""

    BYTES = 2048

    def __init__(self):
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
        return ctypes.c_uint64.from_address(at).value if self.readable(at, 8) else 0

    def is_marker(self, at):
        size = len(self.marker)
        return self.readable(at, size) and ctypes.string_at(at, size) == self.marker

    def set(self, native, arguments):
        """The command line without the interpreter's own name."""
        wanted = [os.fsencode(argument) for argument in arguments]
        text = b"\0".join(wanted) + b"\0"
        native.berth_template_configure(self.base, self.file, self.list, text, len(wanted))


def run_text(text):
    """Runs a program the way the interpreter runs its file."""
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    file = ctypes.c_void_p(libc.fdopen(reader, b"r"))
    ctypes.pythonapi.PyRun_SimpleFileExFlags(file, b"first.py", 1, None)


def know_as_file(path):
    """Says that no importer is for this path, which Python finds out in a slow way: an archive would be
    run by its importer, and a folder too."""
    try:
        with io.FileIO(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 1 << 20 and b"PK\5\6" not in file.read(size + 1):
                sys.path_importer_cache.setdefault(path, None)
    except OSError:
        pass


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


def renewals(seeded, modules):
    """What was drawn at random or read from a clock before the fork, by the module that has it: how it is
    had anew when a program imports that. Nothing of it is there for a program that does not, and to
    renew it touches much memory. Python itself seeds what `random` draws from."""

    def name_processes():
        process = modules["multiprocessing.process"]
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))

    def seed_random():
        for generator in seeded:
            if isinstance(generator, modules["random"].Random):
                generator.seed()

    def seed_numpy():
        for generator in seeded:
            if not isinstance(generator, modules["random"].Random):
                generator.seed()
        modules["numpy"].random.seed()

    found = {"random": seed_random, "numpy": seed_numpy,
             "multiprocessing.process": name_processes,
             "tempfile": lambda: setattr(modules["tempfile"], "_name_sequence", None),
             "logging": lambda: setattr(modules["logging"], "_startTime", time.time())}
    return {name: renew for name, renew in found.items() if name in modules}


def reseed(modules):
    """OpenSSL's generator, which a program need not come to by an import of Python's."""
    if "_ssl" in modules:
        modules["_ssl"].RAND_add(os.urandom(64), 64.0)


def stream(number, like):
    writes = number != 0
    buffer = io.open(number, "wb" if writes else "rb", 0 if writes else -1, closefd=False)
    raw = buffer if writes else buffer.raw
    raw.name = like.name
    text = io.TextIOWrapper(buffer, like.encoding, like.errors, newline="\n", write_through=writes)
    text.mode = like.mode
    return text


def streams():
    """New ones on the descriptors of the old."""
    return {name: stream(number, getattr(sys, "__%s__" % name))
            for number, name in enumerate(("stdin", "stdout", "stderr"))}


def arguments_area():
    """Where the kernel reads the command line of this process."""
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[45]), int(fields[46]) - int(fields[45])


def heap():
    """Where the C library's heap is: its first and its last address."""
    with open("/proc/self/maps") as maps:
        spans = [line.split(" ", 1)[0].split("-") for line in maps if line.rstrip().endswith("[heap]")]
    return (int(spans[0][0], 16), int(spans[0][1], 16)) if len(spans) == 1 else (0, 0)


def join_pages():
    """Memory in huge pages is one entry each to copy at a fork, and is still copied in small ones when it
    is written to. A kernel that cannot do it does not, which only takes longer."""
    huge, collapse = 1 << 21, 25
    libc = ctypes.CDLL(None)
    with open("/proc/self/maps") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        fields = line.split()
        if fields[1] != "rw-p" or (len(fields) > 5 and fields[5] != "[heap]"):
            continue
        first, last = (int(edge, 16) for edge in fields[0].split("-"))
        first, last = -(-first // huge) * huge, last // huge * huge
        if first < last:
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), collapse)
