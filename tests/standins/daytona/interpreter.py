# The stateful interpreter of a context: one JSON object a line comes in, {"code", "envs"}; lines with the
# service's own events go out through the descriptor standard output had. Names live on from run to run.
import ast
import io
import json
import os
import sys
import traceback

events = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
names = {"__name__": "__main__", "__builtins__": __builtins__}


def event(kind, text="", name="", value="", trace=""):
    events.write(json.dumps({"type": kind, "text": text, "name": name, "value": value, "traceback": trace}) + "\n")


class Stream(io.TextIOBase):
    def __init__(self, kind):
        self.kind = kind

    def writable(self):
        return True

    def write(self, text):
        if text:
            event(self.kind, text)
        return len(text)


sys.stdout = Stream("stdout")
sys.stderr = Stream("stderr")
for line in sys.stdin:
    asked = json.loads(line)
    os.environ.update(asked.get("envs") or {})
    try:
        tree = ast.parse(asked["code"], "<code>")
        exec(compile(tree, "<code>", "exec"), names)
    except SystemExit as end:
        if end.code not in (None, 0):
            event("error", name="SystemExit", value=str(end.code), trace="")
    except BaseException as error:
        event("error", name=type(error).__name__, value=str(error), trace=traceback.format_exc())
    event("control", "completed")
