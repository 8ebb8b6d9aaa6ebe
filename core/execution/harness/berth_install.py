# Installs packages before a program starts. Arguments: groups of pip arguments, each group preceded
# by its length. Requirements for base packages that the image has are left out; what remains goes to
# pip as it was given. Ends with pip's own exit code.
import os
import re
import subprocess
import sys

BASE = {"matplotlib", "pandas", "numpy", "sympy", "yfinance"}


def present(name):
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def is_base(argument):
    name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", argument)
    return bool(name) and name.group().lower() in BASE and present(name.group().lower())


def groups(arguments):
    while arguments:
        length = int(arguments[0])
        yield arguments[1:1 + length]
        arguments = arguments[1 + length:]


def where():
    """Into the image's own packages where they can be written, else beside the program."""
    import site

    own = getattr(site, "getsitepackages", list)()
    if sys.prefix != sys.base_prefix or (own and os.access(own[0], os.W_OK)):
        return {}
    return {"PIP_USER": "1"}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    environment = {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_NO_CACHE_DIR": "1",
        **where(),
        **os.environ,
    }
    for group in groups(sys.argv[1:]):
        kept = [argument for argument in group if argument.startswith("-") or not is_base(argument)]
        if not any(not argument.startswith("-") for argument in kept):
            continue
        code = subprocess.call([sys.executable, "-m", "pip", "install", *kept], env=environment)
        if code != 0:
            sys.exit(code if code > 0 else 128 - code)


main()
