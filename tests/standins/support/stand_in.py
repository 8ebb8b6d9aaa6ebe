"""A stand-in as a child of a test: started, asked, told what to get wrong, ended; and plain requests to it."""

import contextlib
import http.client
import json
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit


class StandIn:
    """A context; it ends, and its sandboxes with it, at the end of the block."""

    def __init__(self, program, service, folder, *options):
        self.process = subprocess.Popen([program, service, "--folder", folder, *options], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready = self._line()
        self.url, self.authority = self.ready["url"], self.ready["ca"]
        self._context = ssl.create_default_context(cafile=self.authority)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the stand-in ended with code {self.process.wait()}")
        return json.loads(line)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self._line()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def faults(self, *faults):
        self.ask(faults=list(faults))

    def journal(self):
        return self.ask(journal=True)["journal"]

    def calls(self, endpoint):
        return sum(entry["endpoint"] == endpoint for entry in self.journal())

    def machines(self):
        return self.ask(machines=True)["machines"]

    def connection(self, timeout=60):
        address = urlsplit(self.url)
        return contextlib.closing(
            http.client.HTTPSConnection(address.hostname, address.port, context=self._context, timeout=timeout))

    def request(self, method, path, body=None, headers=None):
        """Status, headers and body of one request on a connection of its own."""
        with self.connection() as connection:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()


def for_all_tests(case, program, service, name):
    """Gives a class of tests a folder, `place`, and a stand-in, `stand_in`; both are gone after its last test."""
    case.place = Path(tempfile.mkdtemp(prefix=f"berth-{name}{service}-"))
    case.addClassCleanup(shutil.rmtree, case.place, ignore_errors=True)
    case.stand_in = StandIn(program, service, str(case.place))
    case.addClassCleanup(case.stand_in.__exit__)
