# Imported modules, put aside and given back when the program imports them, so that a program sees the
# modules it would see anyway, and a file of its own with such a name wins as it does anyway.
import os
import sys
from importlib.machinery import ModuleSpec


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

    def __init__(self, modules, edges, renewals):
        """`renewals`: what to do, by module, before a program sees it."""
        self.modules = modules
        self.edges = edges
        self.renewals = renewals
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

    def holds(self, module):
        return self.modules.get(module.__name__) is module

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
        return ModuleSpec(name, ShelfLoader(module), origin=getattr(module.__spec__, "origin", None))

    def restore(self, name):
        for other in self.closure(name):
            if other in self.renewals:
                self.renewals.pop(other)()
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
