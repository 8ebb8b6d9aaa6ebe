"""berth run through a proxy, in the clear and over TLS: the service's certificate is judged end to end either way, and
the proxy's own as well; a proxy sees where to, its own password, and nothing else.

usage: proxy_test.py BERTH STANDIN [unittest's arguments]
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "standins" / "support"))
from stand_in import StandIn  # noqa: E402

BERTH, STANDIN = sys.argv[1:3]
TIMEOUT_SECONDS = 180
KEY, PASSWORD = "dtn_very-secret-key", "hunter2-very-secret"


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """One that is made here; issue() gives a certificate and its key."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.file = folder, folder / "authority.pem"
        openssl("req", "-x509", *self.new_key("authority"), "-days", "2", "-subj", "/CN=proxies", "-out", self.file)

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                self.folder / f"{name}.key"]

    def issue(self, names):
        request, certificate, more = (self.folder / f"{names}{end}" for end in (".csr", ".pem", ".txt"))
        more.write_text(f"subjectAltName={names}\n")
        openssl("req", *self.new_key(names), "-subj", "/CN=proxy", "-out", request)
        openssl("x509", "-req", "-days", "2", "-in", request, "-CA", self.file, "-CAkey",
                self.folder / "authority.key", "-CAcreateserial", "-extfile", more, "-out", certificate)
        return certificate, self.folder / f"{names}.key"


class ProxyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="berth-proxy-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.stand_in = StandIn(STANDIN, "daytona", str(cls.place))
        cls.addClassCleanup(cls.stand_in.__exit__)
        cls.authority = Authority(cls.place / "authority")
        cls.both = cls.place / "both.pem"
        cls.both.write_text(Path(cls.stand_in.authority).read_text() + cls.authority.file.read_text())
        cls.identity = cls.authority.issue("DNS:localhost")

    def setUp(self):
        self.stand_in.ask(clear=True)
        self.folder = Path(tempfile.mkdtemp(dir=self.place))
        self.log = self.folder / "log"

    def proxy(self, *arguments):
        child = subprocess.Popen([sys.executable, "-B", HERE / "proxy.py", self.log, *map(str, arguments)], text=True,
                                 stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return int(child.stdout.readline())

    def asked(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def run_through(self, proxy, trusted=None, source="print(6 * 7)\n", **more):
        config = self.folder / "config.json"
        config.write_text(json.dumps({"provider": "daytona", "deadlines": {"create": "10s"}, "providers": {"daytona": {
            "config": {"apiUrl": self.stand_in.url + "/api", "caFile": str(trusted or self.both)}}}}))
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("DAYTONA_") and name.upper() not in ("HTTPS_PROXY", "NO_PROXY")}
        done = subprocess.run([BERTH, "run", "-", "--no-templates", "--config", config, "--state-dir",
                               self.folder / "state"], input=source, text=True, capture_output=True,
                              env={**kept, "DAYTONA_API_KEY": KEY, "DAYTONA_ORGANIZATION_ID": "org-1",
                                   "HTTPS_PROXY": proxy, **more}, timeout=TIMEOUT_SECONDS)
        for secret in (KEY, PASSWORD):
            self.assertNotIn(secret, done.stdout + done.stderr)
        self.assertEqual(self.stand_in.machines(), 0)
        return done

    def assert_nothing_arrived(self, done, why):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(why, done.stderr)
        self.assertEqual(self.stand_in.journal(), [])

    def test_all_of_a_run_goes_through_a_proxy_that_is_spoken_to_over_tls(self):
        # Larger than a record of TLS, both ways.
        source = f"text = {'x' * 200_000!r}\nprint(len(text))\nprint(text)\n"
        done = self.run_through(f"https://me:{PASSWORD}@localhost:{self.proxy(*self.identity)}", source=source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "200000\n" + 200_000 * "x" + "\n")
        for entry in self.asked():
            self.assertEqual(entry["line"], f"CONNECT {self.stand_in.url.removeprefix('https://')} HTTP/1.1")
            self.assertEqual(base64.b64decode(entry["authorization"].removeprefix("Basic ")).decode(), f"me:{PASSWORD}")

    def test_all_of_a_run_goes_through_a_proxy_in_the_clear(self):
        done = self.run_through(f"http://localhost:{self.proxy()}")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)
        self.assertTrue(self.stand_in.journal())

    def test_a_proxy_of_an_authority_that_is_not_trusted_is_not_asked(self):
        port = self.proxy(*self.identity)
        done = self.run_through(f"https://me:{PASSWORD}@localhost:{port}", trusted=self.stand_in.authority)
        self.assert_nothing_arrived(done, "unable to get local issuer certificate")
        self.assertEqual(self.asked(), [])

    def test_a_proxy_that_is_not_who_it_should_be_is_not_asked(self):
        done = self.run_through(f"https://127.0.0.1:{self.proxy(*self.identity)}")
        self.assert_nothing_arrived(done, "IP address mismatch")
        self.assertEqual(self.asked(), [])

    def test_the_service_behind_a_proxy_is_judged_as_without_one(self):
        # The tunnel ends at somebody with a good certificate for another name.
        other = self.proxy(*self.authority.issue("DNS:other.example"))
        done = self.run_through(f"https://localhost:{self.proxy(*self.identity, '--elsewhere', other)}")
        self.assert_nothing_arrived(done, "mismatch")

    def test_a_service_that_a_proxy_does_not_reach_was_sent_nothing(self):
        # A port that nobody listens on any more.
        with StandIn(STANDIN, "daytona", str(self.folder)) as gone:
            port = gone.url.rpartition(":")[2]
        done = self.run_through(f"https://localhost:{self.proxy(*self.identity, '--elsewhere', port)}")
        self.assert_nothing_arrived(done, "answered 502")

    def test_no_proxy_goes_past_it(self):
        done = self.run_through(f"https://localhost:{self.proxy(*self.identity)}", NO_PROXY="127.0.0.1,localhost")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)
        self.assertEqual(self.asked(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
