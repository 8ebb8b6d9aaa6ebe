#!/usr/bin/python3
"""The kit at profile full on the providers that run programs here; and, in a sanitizer's build, nothing for it to tell.

usage: full_test.py BERTH PROVIDERS PLUGINS [SANITIZER,...]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from sanitizer_log import SanitizerLog

BERTH, PROVIDERS, PLUGINS = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
SANITIZERS = set(sys.argv[4].split(",")) if len(sys.argv) > 4 else set()
# A case's time is for a machine that does nothing else, and a sanitizer makes it five times slower.
SCALE = "10" if SANITIZERS else "3"
RUN_SECONDS_MAX = 1500
# Faults of tests/plugins/broken and the words for them.
FINDINGS = {"address": [("reads-beyond", "AddressSanitizer: heap-buffer-overflow")],
            "undefined": [("overflows", "runtime error: signed integer overflow")],
            "thread": [("races", "ThreadSanitizer: data race")]}


class Kit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="berth-full-")
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        self.log = SanitizerLog(self.place / "log")

    def run_kit(self, provider, config, *options):
        settings = self.place / "config.json"
        settings.write_text(json.dumps({"providers": {provider.stem: {"config": config}}}))
        (self.place / "tmp").mkdir(exist_ok=True)
        command = [BERTH, "conformance", "run", provider, "--json", "--config", settings, "--state-dir",
                   self.place / "state", "--timeout-scale", SCALE, *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
                              env={**self.log.environment(), "TMPDIR": str(self.place / "tmp")})


class Full(Kit):
    def passes(self, provider, config):
        ran = self.run_kit(provider, config, "--profile", "full")
        self.assertEqual(self.log.findings(), {})
        report = json.loads(ran.stdout)
        bad = [one for one in report["cases"] if one["status"] not in ("pass", "warn", "skip-undeclared")]
        self.assertEqual((ran.returncode, bad), (0, []), f"{json.dumps(bad, indent=1)}\n{ran.stderr}")
        self.assertTrue(report["whole"])
        self.assertGreater(report["passed"], 100)

    def test_the_reference_provider_passes(self):
        self.passes(PROVIDERS / "reference.so", {"programs": "host"})

    # Its helper, a static program that sets up and then is the first process of a sandbox, and what a template is
    # forked by are no part of this: they are built without sanitizers, which need a dynamic program and writable roots.
    def test_the_local_provider_passes(self):
        self.passes(PROVIDERS / "local.so", {})


if SANITIZERS:
    class TheLog(Kit):
        """Whatever the log is trusted with is found by it."""

        def found_in(self, fault, case):
            ran = self.run_kit(PLUGINS / "broken.so", {"programs": "host", "fault": fault}, "--only", case)
            found = self.log.findings()
            for file in self.log.folder.iterdir():
                file.unlink()
            return ran.returncode, {program: "".join(texts) for program, texts in found.items()}

        def test_a_finding_is_in_it_and_ends_the_case_that_meets_it(self):
            for fault, words in [one for sanitizer in sorted(SANITIZERS) for one in FINDINGS[sanitizer]]:
                # The first asks in its own process, the second in a worker only.
                for case, program in (("CLEAN-001", "berth"), ("KEY-004", "berth-worker")):
                    with self.subTest(fault=fault, case=case):
                        code, found = self.found_in(fault, case)
                        self.assertEqual((code, list(found)), (1, [program]))
                        self.assertIn(words, found[program])

        def test_memory_that_a_case_loses_is_in_it(self):
            if "address" in SANITIZERS:
                _, found = self.found_in("loses-memory", "CLEAN-001")
                self.assertIn("LeakSanitizer: detected memory leaks", found["berth"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
