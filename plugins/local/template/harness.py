# The module that hosts of this build put beside every program: all of it that needs no program is done
# in the template, which would else be the larger part of a short run. Whether a program comes with this
# one is seen by its text; with any other, or none, Python does what it always does.
import builtins
import os
import sys

NAME = "sitecustomize"


class Harness:
    def __init__(self, path, paths):
        """`paths`: where the image's own module of that name would be found."""
        with open(path, "rb") as file:
            self.text = file.read()
        self.module = type(sys)(NAME)
        space = vars(self.module)
        space.update(__builtins__=builtins, __file__=NAME + ".py", _AHEAD=True)
        exec(compile(self.text, NAME + ".py", "exec"), space)
        del space["_AHEAD"]
        finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder")
        self.next = finder.find_spec(NAME, paths)
        self.next_code = self.next.loader.get_code(NAME) if self.next else None
        space["_STATE"]["next"] = self.run_next

    def is_in(self, folders):
        """Whether it is what Python would find there."""
        if len(folders) != 1:
            return False
        try:
            with os.scandir(folders[0]) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(NAME)]
            if names != [NAME + ".py"]:
                return False
            with open(folders[0] + "/" + NAME + ".py", "rb", 0) as file:
                return file.read(len(self.text) + 1) == self.text
        except OSError:
            return False

    def start(self, folder):
        self.module.__file__ = "%s/%s.py" % (folder, NAME)
        sys.modules[NAME] = self.module
        sys.modules.setdefault("atexit", self.module.atexit)
        self.module._start()

    def run_next(self):
        if self.next is None:
            return
        module = type(sys)(NAME)
        module.__spec__ = self.next
        module.__file__ = self.next.origin
        module.__loader__ = self.next.loader
        sys.modules[NAME] = module
        exec(self.next_code, vars(module))

    def rehearse(self):
        """Begins as for a program, without one, and takes it back."""
        path, finders = sys.path[:], sys.meta_path[:]
        os.environ["BERTH_RUN"] = "0:/nonexistent/result"
        try:
            self.start("/nonexistent")
            self.module.atexit.unregister(self.module._at_exit)
            self.module._wanted()
        finally:
            sys.path[:], sys.meta_path[:] = path, finders


class First:
    """A program that does nothing, as a host would run it."""

    def __init__(self, own, harness):
        self.folder = "/tmp/berth-first"
        beside = self.folder + "/harness"
        os.makedirs(beside)
        with open(beside + "/%s.py" % NAME, "wb") as file:
            file.write(harness.text)
        with open(self.folder + "/main.py", "wb") as file:
            file.write(b"print(1)\n")
        environment = dict(own, PYTHONPATH=beside, BERTH_RUN="0:%s/result" % beside)
        self.command = ["python3", self.folder + "/main.py"], environment

    def remove(self):
        for folder, folders, names in os.walk(self.folder, topdown=False):
            for name in names:
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
