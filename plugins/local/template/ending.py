# The end of a program on a forked interpreter.
import atexit
import ctypes
import gc
import os
import sys
import weakref


class Ending:
    """The end of a program. Python takes everything apart that was ever imported, which in a fork copies
    most of what it shares; here the program's own modules are taken apart in Python's way and order, and
    the rest ends with the process. What this cannot tell apart for certain ends in the ordinary way."""

    def __init__(self, native):
        self.native = native
        self.code = None
        self.inherited = None
        # First to come, last to be called.
        atexit.register(self.finish)
        self.watch_exit_codes()

    def watch_exit_codes(self):
        """The interpreter asks an uncaught SystemExit for its code, and nobody else without a frame."""
        names = gc.get_referents(SystemExit.__dict__)[0]
        own = names["code"]

        def get(error):
            code = own.__get__(error)
            if sys._getframe().f_back is None:
                self.code = (code,)
            return code

        names["code"] = property(get, own.__set__, own.__delete__, own.__doc__)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
        make = self.native.berth_template_exit
        make.argtypes = (ctypes.py_object, ctypes.py_object, ctypes.c_char_p)
        make.restype = ctypes.py_object
        self.documentation = sys.exit.__doc__.encode()
        sys.exit = make(sys, "sys", self.documentation)

    def begin(self, shelf):
        """The program begins: what is here now is not its own."""
        self.shelf = shelf
        self.inherited = set(sys.modules) - {"__main__"}

    def exit_code(self):
        """What the interpreter will end with, or None."""
        if any(hasattr(sys, name) for name in ("last_type", "last_value", "last_exc")):
            return None
        if "PYTHONINSPECT" in os.environ or sys.flags.inspect:
            return None
        left = [SystemExit]
        while left:
            kind = left.pop()
            left.extend(kind.__subclasses__())
            if kind is not SystemExit and "code" in vars(kind):
                return None
        if self.code is None or self.code[0] is None:
            return 0
        code = self.code[0]
        if not isinstance(code, int):
            return 1
        return int(code) & 0xFF if abs(code) < 1 << 31 else None

    def finish(self):
        if self.inherited is None:
            return
        code = self.exit_code()
        if code is None:
            return
        self.flush()
        self.take_apart()
        self.flush()
        self.native.berth_template_end(code)

    def take_apart(self):
        own = [name for name in sys.modules if name not in self.inherited]
        modules = []
        for name in own:
            module = sys.modules.pop(name)
            if isinstance(module, type(sys)) and not self.shelf.holds(module):
                modules.append(weakref.ref(module))
        module = None
        gc.collect()
        for reference in reversed(modules):
            module = reference()
            if module is not None:
                ctypes.pythonapi._PyModule_Clear(ctypes.py_object(module))
        module = None
        gc.collect()

    def flush(self):
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except Exception:
                pass
