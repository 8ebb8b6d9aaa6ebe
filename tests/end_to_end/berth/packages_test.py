"""Packages: fetched by the host from the configured index and nowhere else, for programs in real
sandboxes."""

import signal

from cli import BerthCase, CONFIGURATION, main, wait_until
from package_index import Index, authority, source_package, wheel

USES_IT = "!pip install tinydemo\nimport tinydemo\nprint(tinydemo.VALUE)\n"


class PackageCase(BerthCase):
    def index(self, *files, configured=True, python=None, **options):
        made = Index(files or [wheel()], **options)
        self.addCleanup(made.close)
        if configured:
            self.config({"python": {"indexUrl": made.url(), **(python or {})}})
        return made

    def run_json(self, code, expect=0, **options):
        return self.document("run", self.file("program.py", code), expect=expect, **options)


class Packages(PackageCase):
    def test_a_package_is_installed_from_the_index_and_the_program_has_no_network(self):
        index = self.index()
        found = self.run_json(USES_IT + "import socket\ntry:\n    socket.create_connection(('127.0.0.1', "
                              f"{index.port}), 2)\nexcept OSError as error: print(type(error).__name__)\n")
        self.assertEqual(found["stdout"], "41\nConnectionRefusedError\n")
        self.assertGreater(found["timings"]["install"], 0)
        self.assert_nothing_left()

    def test_a_second_install_takes_the_file_from_the_cache(self):
        index = self.index()
        for _ in range(3):
            self.assertEqual(self.program(USES_IT).stdout, "41\n")
        self.assertEqual(index.asked_for(".whl"), 1)

    def test_a_changed_file_in_the_cache_is_fetched_anew(self):
        index = self.index()
        self.program(USES_IT)
        [kept] = (self.state / "packages").iterdir()
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        kept.write_bytes(b"something else")
        self.assertEqual(self.program(USES_IT).stdout, "41\n")
        self.assertEqual(index.asked_for(".whl"), 2)
        self.assertEqual(self.program(USES_IT).stdout, "41\n")
        self.assertEqual(index.asked_for(".whl"), 2)

    def test_two_installs_at_once_share_the_cache(self):
        index = self.index()
        path = self.file("program.py", USES_IT)
        both = [self.start("run", path) for _ in range(2)]
        for process in both:
            self.assertEqual(process.communicate(timeout=100)[0], b"41\n")
        before = index.asked_for(".whl")
        self.assertLessEqual(before, 2)
        self.program(USES_IT)
        self.assertEqual(index.asked_for(".whl"), before)

    def test_a_missing_package_is_a_completed_run_with_the_words_of_pip(self):
        self.index()
        found = self.run_json("!pip install no-such-package-zz9\nprint('not reached')\n", expect=1)
        self.assertEqual(found["status"], "failed")
        self.assertEqual(found["error"]["name"], "PackageInstallError")
        self.assertIn("No matching distribution found for no-such-package-zz9", found["stderr"])
        self.assertNotIn("not reached", found["message"])
        self.assertEqual(self.receipts()[-1]["cost_micro_usd"], 50000)

    def test_a_file_with_another_hash_is_refused_and_not_kept(self):
        name, data = wheel()
        self.index((name, data), hashes={name: "0" * 64})
        found = self.run_json(USES_IT, expect=1)
        self.assertIn("DO NOT MATCH THE HASHES", found["stderr"])
        self.assertEqual(list((self.state / "packages").iterdir()), [])

    def test_an_index_that_redirects_elsewhere_is_refused(self):
        other = self.index(configured=False)
        name, data = wheel()
        moved = f"/files/{name}"
        self.index((name, data), answers={
            moved: lambda request: request.answer(302, headers=[("Location", f"http://127.0.0.1:{other.port}{moved}")])})
        found = self.run_json(USES_IT, expect=1)
        self.assertIn("the index redirects to it", found["stderr"])
        self.assertIn("python.fileHosts", " ".join(found["notes"]))
        self.assertEqual(other.requests, [])

    def test_another_index_named_by_the_program_is_refused_by_a_sentence(self):
        self.index()
        found = self.run_json("!pip install --index-url https://index.example/simple tinydemo\n", expect=1)
        self.assertIn("index.example:443 is not the configured package index", found["stderr"])

    def test_credentials_of_the_index_reach_nobody_but_the_index(self):
        index = self.index(configured=False, user="reader:Hunter22")
        self.config({"python": {"indexUrl": index.url("reader:Hunter22@")}})
        found = self.run_json(
            "!pip install -v tinydemo\nimport os, glob, tinydemo\nprint(tinydemo.VALUE)\n"
            "seen = repr(dict(os.environ))\n"
            "for name in glob.glob('/proc/[0-9]*/cmdline') + glob.glob('/tmp/.berth-*/**', recursive=True):\n"
            "    try: seen += open(name, errors='replace').read()\n"
            "    except OSError: pass\n"
            "print('Hunter' + '22' in seen)\n")
        self.assertEqual(found["stdout"], "41\nFalse\n")
        index.user = "reader:other"
        failed = self.run_json(USES_IT, expect=1)
        self.assertIn("401", " ".join(failed["notes"]))
        for text in (str(found), str(failed), str(self.receipts())):
            self.assertNotIn("Hunter22", text)
            self.assertNotIn("aHVudGVy", text)
        self.config({"python": {"indexUrl": "ftp://reader:Hunter22@127.0.0.1/"}})
        done = self.program(USES_IT, expect=CONFIGURATION)
        self.assertIn("indexUrl", done.stderr)
        self.assertNotIn("Hunter22", done.stderr)

    def test_a_source_package_reaches_nothing_while_it_is_built(self):
        other = self.index(configured=False)
        setup = ("import socket, sys, urllib.request\n"
                 "for what in (lambda: socket.create_connection(('127.0.0.1', %d), 3),\n"
                 "             lambda: urllib.request.urlopen('http://elsewhere.example/', timeout=3)):\n"
                 "    try: what()\n"
                 "    except OSError as error: print('BLOCKED', error, file=sys.stderr)\n"
                 "    else: print('REACHED', file=sys.stderr)\n"
                 "sys.exit('stopped here')\n" % other.port)
        self.index(source_package("evil", setup))
        found = self.run_json("!pip install --no-build-isolation evil\nprint('not reached')\n", expect=1)
        said = found["stdout"] + found["stderr"]
        self.assertEqual(said.count("BLOCKED"), 2, said)
        self.assertIn("elsewhere.example is not the configured package index", said)
        self.assertNotIn("REACHED", said)
        self.assertEqual(other.requests, [])

    def test_a_cancelled_install_leaves_nothing(self):
        index = self.index(answers={"/simple/tinydemo/": lambda request: index.stop.wait(60)})
        process = self.start("run", self.file("program.py", USES_IT))
        wait_until(lambda: index.requests, "the index is asked")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130)
        self.assert_nothing_left()
        self.assertEqual(self.receipts()[-1]["cost_micro_usd"], 0)

    def test_a_missing_base_package_is_installed_when_it_is_imported(self):
        self.index(wheel("yfinance", source="VALUE = 7\n"))
        self.assertEqual(self.program("import yfinance as yf\nprint(yf.VALUE)\n").stdout, "7\n")

    def test_without_an_index_the_result_says_so(self):
        found = self.run_json(USES_IT, expect=1)
        self.assertIn("python.indexUrl", " ".join(found["notes"]))
        self.assertIn("tinydemo", found["stderr"])


# Where slow tests run: an installation takes seconds, and these ask about settings and odd indexes.
class Settings(PackageCase):
    def test_the_cache_has_a_size(self):
        files = [wheel(name, source="VALUE = 41\nTEXT = '%s'\n" % ("x" * 3000)) for name in ("one", "two", "three")]
        self.index(*files, python={"cache": "8K"})
        for name in ("one", "two", "three"):
            self.program(f"!pip install {name}\nimport {name}\n")
        self.assertEqual(len(list((self.state / "packages").iterdir())), 2)

    def test_lines_may_be_indented_and_flags_pass_through(self):
        self.index(wheel(), wheel(version="1.3", source="VALUE = 42\n"))
        code = ("try:\n    import tinydemo\nexcept ImportError:\n"
                "    !pip install -q 'tinydemo<1.3'  # the older\n"
                "if True:\n\tif True:\n\t\t%pip install --no-deps tinydemo==1.2\n"
                "import tinydemo\nprint(tinydemo.VALUE)\n")
        self.assertEqual(self.program(code).stdout, "41\n")

    def test_files_may_come_from_a_host_that_is_configured(self):
        other = self.index(configured=False)
        name, data = wheel()
        index = Index([(name, data)], answers={
            "/simple/tinydemo/": lambda request: request.answer(
                200, f'<a href="http://127.0.0.1:{other.port}/files/{name}">{name}</a>'.encode())})
        self.addCleanup(index.close)
        self.config({"python": {"indexUrl": index.url(), "fileHosts": [f"127.0.0.1:{other.port}"]}})
        self.assertEqual(self.program(USES_IT).stdout, "41\n")
        self.assertEqual(other.asked_for(".whl"), 1)

    def test_the_environment_of_the_host_decides_nothing(self):
        self.index(configured=False)
        other = self.index(wheel(source="VALUE = 13\n"), configured=False)
        index = self.index()
        done = self.program(USES_IT, environment={"PIP_INDEX_URL": other.url(), "PIP_NO_INDEX": "1",
                                                  "https_proxy": "http://127.0.0.1:9"})
        self.assertEqual(done.stdout, "41\n")
        self.assertEqual((other.requests, index.asked_for(".whl")), ([], 1))

    def test_https_with_an_authority_of_ones_own(self):
        own, certificate, key = authority(self.folder)
        index = self.index(configured=False, tls=(certificate, key))
        self.config({"python": {"indexUrl": index.url()}})
        untrusted = self.run_json(USES_IT, expect=1)
        self.assertIn("no trusted TLS connection", " ".join(untrusted["notes"]))
        self.assertEqual(index.requests, [])
        self.config({"python": {"indexUrl": index.url(), "certificates": str(own)}})
        self.assertEqual(self.program(USES_IT).stdout, "41\n")
        self.config({"python": {"indexUrl": index.url(), "trustedHosts": ["127.0.0.1"]}})
        self.assertEqual(self.program(USES_IT).stdout, "41\n")

    def test_a_folder_of_wheels_needs_no_index(self):
        folder = self.folder / "wheels"
        folder.mkdir()
        for name, data in (wheel(requires=["second"]), wheel("second")):
            (folder / name).write_bytes(data)
        index = self.index(configured=False)
        self.config({"python": {"indexUrl": index.url(), "findLinks": [str(folder)], "noIndex": True}})
        self.assertEqual(self.program(USES_IT + "import second\n").stdout, "41\n")
        self.assertEqual(index.requests, [])

    def test_a_stalled_index_ends_with_a_sentence(self):
        index = self.index(answers={"/simple/tinydemo/": lambda request: index.stop.wait(60)},
                           python={"idleTimeout": "1s"})
        found = self.run_json(USES_IT, expect=1)
        self.assertIn("nothing came for", " ".join(found["notes"]))
        self.assert_nothing_left()

    def test_an_index_that_drips_meets_the_deadline_of_installs(self):
        def drip(request):
            request.send_response(200)
            request.end_headers()
            while not index.stop.wait(0.1):
                request.wfile.write(b"<!-- -->")

        index = self.index(answers={"/simple/tinydemo/": drip}, python={"timeout": "3s"})
        found = self.run_json(USES_IT, expect=None)
        self.assertEqual((found["status"], found["cause"]), ("failed", "wall"))
        self.assertIn("did not end in time", found["message"])
        self.assert_nothing_left()

    def test_a_page_without_end_is_cut_off(self):
        def flood(request):
            request.send_response(200)
            request.end_headers()
            while not index.stop.is_set():
                request.wfile.write(b"<a href='x.whl'>" * 4096)

        index = self.index(answers={"/simple/tinydemo/": flood})
        found = self.run_json(USES_IT, expect=1)
        self.assertIn("longer than 32 MiB", " ".join(found["notes"]))

    def test_a_base_package_that_is_nowhere_fails_with_a_sentence(self):
        self.index()
        self.assertIn("base packages", self.run_json("import yfinance\n", expect=1)["message"])

    def test_base_packages_of_the_image_are_not_installed_again(self):
        index = self.index()
        self.assertEqual(self.program("!pip install numpy\nimport numpy\nprint(1)\n").stdout, "1\n")
        self.assertEqual(index.requests, [])


if __name__ == "__main__":
    main()
