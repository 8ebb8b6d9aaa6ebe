"""What the sanitizers of a build find in whatever a test starts: a file for each process, whoever looks at its end."""

import os
from pathlib import Path

OPTIONS = ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")


class SanitizerLog:
    """A folder that stays empty. Cases and workers inherit where it is; in other builds nobody reads it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()

    def environment(self, base=os.environ):
        own = f"log_path={self.folder}/finding:log_exe_name=1"
        return {**base, **{name: ":".join(filter(None, (base.get(name), own))) for name in OPTIONS}}

    def findings(self):
        """program -> what was found in it; each file is named finding.PROGRAM.PID."""
        found = {}
        for file in sorted(self.folder.iterdir()):
            found.setdefault(file.name.split(".")[1], []).append(file.read_text(errors="replace"))
        return found
