#!/usr/bin/python3
"""The kit at profile full where the host's allocator is not the provider's: no memory is freed by the other side.

usage: foreign_test.py BERTH REFERENCE LOCAL
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BERTH, REFERENCE, LOCAL = map(Path, sys.argv[1:4])
RUN_SECONDS_MAX = 600
OPERATOR_NEW = "_Znwm"


def symbols(file):
    """name -> whether the file has it itself, of what the dynamic linker sees."""
    ran = subprocess.run(["nm", "--dynamic", file], capture_output=True, text=True, check=True)
    lines = [line.split() for line in ran.stdout.splitlines()]
    return {words[-1].split("@")[0]: words[-2] not in "Uw" for words in lines if len(words) > 1}


class ForeignAllocator(unittest.TestCase):
    def run_kit(self, provider, *options, config=None):
        with tempfile.TemporaryDirectory(prefix="berth-foreign-") as folder:
            settings = Path(folder, "config.json")
            settings.write_text(json.dumps({"providers": {provider.stem: {"config": config or {}}}}))
            command = [BERTH, "conformance", "run", provider, "--json", "--config", settings, "--state-dir", folder,
                       "--timeout-scale", "3", *options]
            return subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)

    def passes(self, provider, config):
        ran = self.run_kit(provider, "--profile", "full", config=config)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        report = json.loads(ran.stdout)
        self.assertTrue(report["whole"])
        self.assertGreater(report["passed"], 0)

    def test_the_two_sides_have_an_allocator_each(self):
        for program in (BERTH, BERTH.with_name("berth-worker")):
            self.assertTrue(symbols(program)[OPERATOR_NEW], f"{program} uses the allocator of its libraries")
        for provider in (REFERENCE, LOCAL):
            self.assertNotIn(OPERATOR_NEW, symbols(provider), f"{provider} uses the allocator of its host")

    def test_the_reference_provider_passes_profile_full(self):
        self.passes(REFERENCE, {"programs": "host"})

    def test_the_local_provider_passes_profile_full(self):
        self.passes(LOCAL, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
