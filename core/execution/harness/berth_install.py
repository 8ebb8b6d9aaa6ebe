# Installs packages before a program starts. Arguments: "direct" or "relay:INDEXES:LINKS", then groups of
# pip arguments, each preceded by its length; a length that begins with "?" marks a group whose failure
# does not matter. Requirements for base packages that the image has are left out; what remains goes to
# pip as it was given. Ends with pip's own exit code.
#
# With a relay, pip reaches the host's package index and nothing else: a small server on loopback turns
# pip's requests into lines on standard output, and the answers come in on standard input. What pip
# prints travels between them.
import os
import re
import subprocess
import sys

BASE = {"matplotlib", "pandas", "numpy", "sympy", "yfinance"}
ONLY_THE_INDEX = "is not the configured package index; an install can reach nothing else"


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
    """What is left to install: pip arguments, and whether a failure is one."""
    while arguments:
        length = int(arguments[0].lstrip("?"))
        group = arguments[1:1 + length]
        kept = [argument for argument in group if argument.startswith("-") or not is_base(argument)]
        if any(not argument.startswith("-") for argument in kept):
            yield kept, not arguments[0].startswith("?")
        arguments = arguments[1 + length:]


def where():
    """Into the image's own packages where they can be written, else beside the program."""
    import site

    own = getattr(site, "getsitepackages", list)()
    if sys.prefix != sys.base_prefix or (own and os.access(own[0], os.W_OK)):
        return {}
    return {"PIP_USER": "1"}


def base_environment():
    return {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_NO_CACHE_DIR": "1",
        **where(),
        **os.environ,
    }


class Relay:
    def __init__(self, indexes, links):
        import threading

        self.lock = threading.Lock()
        self.answers = {}
        self.last = 0
        self.refused = set()
        # pip and what it starts get other descriptors: these two are the host's.
        self.into = os.fdopen(os.dup(0), "rb")
        self.out = os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)
        self.server = self.make_server()
        place = "http://127.0.0.1:%d" % self.server.server_address[1]
        pages = ["%s/index/%d/" % (place, i) for i in range(indexes)]
        self.environment = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_RETRIES": "0",
            "PIP_TIMEOUT": "600",
            "PIP_FIND_LINKS": " ".join("%s/links/%d/" % (place, i) for i in range(links)),
            "PIP_INDEX_URL": "".join(pages[:1]),
            "PIP_EXTRA_INDEX_URL": " ".join(pages[1:]),
            "PIP_NO_INDEX": "" if pages else "1",
            "PIP_PROXY": "",
        }
        self.environment = {name: value for name, value in self.environment.items() if value}
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            self.environment[name] = self.environment[name.upper()] = place
        self.environment["no_proxy"] = self.environment["NO_PROXY"] = "127.0.0.1,localhost,::1"
        for target in (self.read_answers, self.server.serve_forever):
            threading.Thread(target=target, daemon=True).start()

    def send(self, line, payload=b""):
        data = line.encode("ascii", "replace") + b"\n" + payload
        with self.lock:
            while data:
                data = data[os.write(self.out, data):]

    def ask(self, path):
        import queue

        answer = queue.Queue(16)
        with self.lock:
            self.last += 1
            number = self.last
            self.answers[number] = answer
        self.send("get %d %s" % (number, path))
        return answer

    def read_answers(self):
        for line in iter(self.into.readline, b""):
            number, kind, *rest = line.decode("ascii").rstrip("\n").split(" ", 2)
            answer = self.answers.get(int(number))
            rest = rest[0] if rest else ""
            item = (kind, self.into.read(int(rest)) if kind == "data" else rest)
            if answer is not None:
                answer.put(item)
            if kind in ("end", "cut"):
                self.answers.pop(int(number), None)
        for answer in list(self.answers.values()):
            answer.put(("cut", ""))

    def refuse(self, host):
        if host not in self.refused and len(self.refused) < 16:
            self.refused.add(host)
            text = "ERROR: %s %s\n" % (host, ONLY_THE_INDEX)
            self.say(2, text.encode("utf-8", "replace"))

    def say(self, stream, data):
        self.send("say %d %d" % (stream, len(data)), data)

    def make_server(relay):
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class Pip(BaseHTTPRequestHandler):
            timeout = 900

            def log_message(self, *arguments):
                pass

            def refused(self, host):
                relay.refuse(host[:200])
                self.send_response_only(403, "%s %s" % (ascii(host[:200])[1:-1], ONLY_THE_INDEX))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_CONNECT(self):
                self.refused(self.path)

            def do_GET(self):
                if not self.path.startswith("/"):
                    self.refused(self.path.partition("://")[2].partition("/")[0].rpartition("@")[2])
                    return
                answer = relay.ask(self.path.split("?")[0][:900])
                left = None
                try:
                    for kind, item in iter(answer.get, None):
                        if kind == "head":
                            status, length, reason = item.split(" ", 2)
                            left = int(length)
                            self.send_response_only(int(status), reason)
                            if int(status) == 200 and not self.path.startswith("/file/"):
                                self.send_header("Content-Type", "text/html; charset=utf-8")
                            if left >= 0:
                                self.send_header("Content-Length", length)
                            self.end_headers()
                        elif kind == "data":
                            self.wfile.write(item)
                        else:
                            answer = None
                            return
                finally:
                    self.close_connection = True
                    while answer is not None and answer.get()[0] not in ("end", "cut"):
                        pass

            do_POST = do_PUT = do_HEAD = do_DELETE = do_OPTIONS = do_PATCH = (
                lambda self: self.refused(self.path))

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        return Server(("127.0.0.1", 0), Pip)

    def run(self, command, environment):
        """pip with its words passed on while they come; its exit code."""
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        for data in iter(lambda: os.read(process.stdout.fileno(), 65536), b""):
            self.say(1, data)
        return process.wait()


def run_direct(command, environment):
    return subprocess.call(command, env=environment)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    wanted = list(groups(sys.argv[2:]))
    if not wanted:
        return
    environment = base_environment()
    run = run_direct
    if sys.argv[1].startswith("relay:"):
        relay = Relay(*map(int, sys.argv[1].split(":")[1:]))
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_PROXY", "PIP_INDEX_URL"):
            environment.pop(name, None)
        environment.update(relay.environment)
        run = relay.run
    for group, required in wanted:
        code = run([sys.executable, "-m", "pip", "install", *group], environment)
        if code != 0 and required:
            os._exit(code if code > 0 else 128 - code)
    # Not by way of the threads that still wait for something.
    os._exit(0)


main()
