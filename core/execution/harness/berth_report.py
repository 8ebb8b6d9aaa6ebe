# The second half of the Python side: what a program left is turned into records. Runs in a namespace
# that berth_run.py fills with `append`, `main`, `pid` and `home`; never imported by name.
#
# The program shares this process and may have rebound or shadowed anything, so modules are taken
# from where the interpreter keeps its own, and every step fails alone.
import sys

TEXT_MAX = 262144  # characters of a shown result
VALUE_MAX = 16384
TRACEBACK_MAX = 65536
JSON_MAX = 4194304  # bytes of a chart's or a result's JSON
DEPTH_MAX = 16
FIGURES_MAX = 32
PNG_MAX = 4194304
PNG_TOTAL_MAX = 8388608
SIDE_MAX = 65535  # pixels
AREA_MAX = 50000000

_ESCAPES = {code: "\\u%04x" % code for code in range(32)}
_ESCAPES.update({34: '\\"', 92: "\\\\", 10: "\\n", 9: "\\t", 13: "\\r"})


class Rejected(Exception):
    pass


def quote(text):
    if not text.isascii():
        # Surrogates that stand alone have no place in UTF-8.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return '"' + text.translate(_ESCAPES) + '"'


def note(text):
    append("note", '{"text":%s}' % quote(text[:VALUE_MAX]))


def describe(fault):
    try:
        text = str(fault)
    except BaseException:
        text = "<its text could not be made>"
    name = type(fault).__name__
    return name + ": " + text[:500] if text else name


def own_module(name):
    """A module of the standard library, whatever the program's path or sys.modules say."""
    found = sys.modules.get(name)
    origin = getattr(getattr(found, "__spec__", None), "origin", None)
    if found is not None and (origin in ("built-in", "frozen") or str(origin).startswith(home)):
        return found
    path, known = sys.path[:], sys.modules.pop(name, None)
    sys.path[:] = [home, home + "/lib-dynload"]
    try:
        return __import__(name)
    finally:
        sys.path[:] = path
        if known is not None:
            sys.modules[name] = known


# ---- values as JSON


def exact_json(value, depth=0):
    """JSON text of a value that is made of JSON's own types and nothing else."""
    kind = type(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is str:
        return quote(value)
    if kind is int:
        if not -(2**63) <= value < 2**64:
            raise Rejected("an integer beyond 64 bits")
        return str(value)
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise Rejected("not a finite number")
        return repr(value)
    if depth >= DEPTH_MAX:
        raise Rejected("nested too deeply")
    if kind is list or kind is tuple:
        return "[" + ",".join([exact_json(item, depth + 1) for item in value]) + "]"
    if kind is dict:
        parts = []
        for key, item in value.items():
            if type(key) is not str:
                raise Rejected("a key that is not text")
            parts.append(quote(key) + ":" + exact_json(item, depth + 1))
        return "{" + ",".join(parts) + "}"
    raise Rejected("a " + kind.__name__)


def plain(value, where):
    """A chart's value with NumPy, pandas and datetime values turned into JSON's types."""
    kind = type(value)
    if value is None or kind is bool or kind is str or kind is int:
        return value
    if kind is float:
        return value if value - value == 0 else None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return {key_text(key, where): plain(item, where + "." + key_text(key, where)[:40])
                for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item, "%s[%d]" % (where, i)) for i, item in enumerate(value)]
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "") == "M" and not hasattr(value, "isoformat"):
        if not hasattr(value, "to_list"):
            return plain_dates(value.astype(str).tolist())
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "total_seconds"):
        return plain(value.total_seconds(), where)
    if dtype is not None and hasattr(value, "tolist"):
        return plain(value.tolist(), where)
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    for convert in ("__index__", "__float__"):
        if hasattr(value, convert):
            return plain((int if convert == "__index__" else float)(value), where)
    raise Rejected("%s is a %s, which a chart cannot hold" % (where, kind.__name__))


def key_text(key, where):
    if isinstance(key, str):
        return str.__str__(key)
    raise Rejected("%s has a key that is not text" % where)


def plain_dates(value):
    if isinstance(value, list):
        return [plain_dates(item) for item in value]
    return None if value == "NaT" else value


# ---- what the program left


def report_chart():
    chart = main.get("chart")
    if not isinstance(chart, dict) or not chart:
        return
    try:
        text = exact_json(plain(chart, "chart"))
    except Rejected as reason:
        note("chart was not used: %s" % reason)
        return
    except BaseException as fault:
        note("chart was not used: it could not be read: %s" % describe(fault))
        return
    size = len(text.encode("utf-8", "replace"))
    if size > JSON_MAX:
        note("chart is too large: %d bytes as JSON, at most %d are kept" % (size, JSON_MAX))
        return
    append("chart", text)


def report_result():
    for name in ("result", "results"):
        if name in main:
            break
    else:
        return
    value = main[name]
    try:
        text = "".join((str(value),))
    except BaseException as fault:
        note("%s could not be shown: %s" % (name, describe(fault)))
        return
    cut = len(text) > TEXT_MAX
    header = '{"name":"%s","text":%s,"truncated":%s' % (
        name, quote(text[:TEXT_MAX]), "true" if cut else "false")
    try:
        encoded = exact_json(value)
        if len(encoded) <= TEXT_MAX:
            header += ',"json":' + encoded
    except BaseException:
        pass
    append("result", header + "}")


def report_error(fault):
    name = type(fault).__name__
    try:
        value = str(fault)
    except BaseException:
        value = "<its text could not be made>"
    try:
        lines = own_module("traceback").format_exception(type(fault), fault, fault.__traceback__)
        trace = "".join(lines)
    except BaseException:
        trace = ""
    if len(trace) > TRACEBACK_MAX:
        half = TRACEBACK_MAX // 2
        trace = trace[:half] + "\n  [...]\n" + trace[-half:]
    append("error", '{"name":%s,"value":%s,"traceback":%s}' % (
        quote(name[:500]), quote(value[:VALUE_MAX]), quote(trace)))


def finish():
    fault = getattr(sys, "last_exc", None)
    if fault is None:
        fault = getattr(sys, "last_value", None)
    figures = [globals().get(name) for name in ("collect_figures", "write_figures")]
    steps = [step for step in figures if step is not None] + [report_chart]
    steps.append((lambda: report_error(fault)) if isinstance(fault, BaseException) else report_result)
    for step in steps:
        try:
            step()
        except BaseException as problem:
            note("a part of the result is missing: %s" % describe(problem))
    append("end", "{}")
    if type(fault) is KeyboardInterrupt:
        # The interpreter ends itself by the signal when it remembers one; evaluating text, as some of
        # the modules above do, made it forget.
        try:
            exec("raise KeyboardInterrupt")
        except KeyboardInterrupt:
            pass
