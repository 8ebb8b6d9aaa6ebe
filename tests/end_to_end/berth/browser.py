"""A real browser without a network, started once for many pages and led by its debugging protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import cli

PROGRAM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# What it reads and writes as descriptors 3 and 4 are the pipes to this process.
SHELL = 'exec "$@" 3<&0 4>&1 </dev/null >&2'
# Timers of a page are over in this much time of its own, which costs none of ours.
PAGE_TIME_MS = 5000


class Browser:
    def __init__(self):
        if not PROGRAM:
            raise AssertionError("no chromium here to open a page with: install chromium-headless-shell")
        self.folder = tempfile.mkdtemp(prefix="berth-browser-")
        self.said = open(f"{self.folder}/said", "w+b")
        self.process = subprocess.Popen(
            ["sh", "-c", SHELL, "sh", PROGRAM, "--no-sandbox", "--headless", "--disable-gpu",
             "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.folder}/profile",
             "--window-size=900,520", "--remote-debugging-pipe"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)
        self.last = 0
        self.unread = b""
        self.events = []

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.said.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, end):
        """The next one from the browser."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not piece:
                self.said.seek(0)
                raise AssertionError("the browser " + ("has ended: " if ready else "does not answer: ")
                                     + self.said.read()[-2000:].decode(errors="replace"))
            self.unread += piece
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def ask(self, method, session=None, **parameters):
        self.last += 1
        asked = {"id": self.last, "method": method, "params": parameters}
        if session:
            asked["sessionId"] = session
        self.process.stdin.write(json.dumps(asked).encode() + b"\0")
        self.process.stdin.flush()
        end = time.monotonic() + cli.TIMEOUT_SECONDS
        while True:
            told = self.message(end)
            if told.get("id") == self.last:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']}")
                return told["result"]
            self.events.append(told)

    def await_event(self, method, session):
        end = time.monotonic() + cli.TIMEOUT_SECONDS
        while not any(one.get("method") == method and one.get("sessionId") == session for one in self.events):
            self.events.append(self.message(end))

    def open(self, address, screenshot=None):
        """The page in a profile of its own: its document as it is in the end, and whatever it complained of."""
        self.events = []
        context = self.ask("Target.createBrowserContext")["browserContextId"]
        target = self.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable", session)
        gone = self.ask("Page.navigate", session, url=address)
        if gone.get("errorText"):
            raise AssertionError(f"{address}: {gone['errorText']}")
        self.await_event("Page.loadEventFired", session)
        self.ask("Emulation.setVirtualTimePolicy", session, policy="advance", budget=PAGE_TIME_MS)
        self.await_event("Emulation.virtualTimeBudgetExpired", session)
        document = self.ask("Runtime.evaluate", session, expression="document.documentElement.outerHTML")
        if screenshot:
            picture = self.ask("Page.captureScreenshot", session, format="png")["data"]
            screenshot.write_bytes(base64.b64decode(picture))
        complaints = [json.dumps(one["params"]) for one in self.events if one.get("method") in (
            "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
        self.ask("Target.disposeBrowserContext", browserContextId=context)
        return document["result"]["value"], complaints
