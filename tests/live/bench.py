"""What the cases stand on: the berth command with a state folder of its own, a ceiling, and the end of everything.

Nothing is begun beyond the ceiling, and whatever happens, finish() leaves no sandbox that this run has made, or says
which may be left.
"""

import json
import os
import select
import signal
import subprocess
import time

from service import ServiceError

OWNER, SESSION = "berth-live", "live"
LIFETIME_MINUTES = 10  # until a service ends a sandbox by itself


class CeilingReached(Exception):
    pass


class Failed(Exception):
    """A case's expectation does not hold."""


def expect(held, what):
    if not held:
        raise Failed(what)


class Bench:
    def __init__(self, berth, witness, folder, sandboxes_max, seconds_max, patience, interruptions):
        self.berth, self.witness, self.folder = berth, witness, folder
        self.sandboxes_left = sandboxes_max
        self.end = time.monotonic() + seconds_max
        self.patience = patience  # seconds for what only cleans up or looks
        self.interruptions = interruptions
        self.running = []
        self.calls = 0
        self.config = folder / "config.json"
        endpoint = {"apiUrl": witness.address}
        if witness.authority:
            endpoint["caFile"] = witness.authority
        self.config.write_text(json.dumps({
            "provider": witness.name, "deadlines": {"lifetime": f"{LIFETIME_MINUTES}m"},
            "providers": {witness.name: {"config": endpoint}}}))

    def seconds_left(self):
        return self.end - time.monotonic()

    def new_call(self):
        """The name of a call that makes a sandbox, if one more may be made."""
        if self.sandboxes_left <= 0:
            raise CeilingReached("the ceiling of sandboxes is reached")
        if self.seconds_left() <= 0:
            raise CeilingReached("the ceiling of seconds is reached")
        self.sandboxes_left -= 1
        self.calls += 1
        return f"call-{self.calls}"

    def start(self, *arguments, source=None):
        """berth as a child that gets no signal of a terminal: how it ends is decided here."""
        place = ["--config", self.config, "--state-dir", self.folder / "state"]
        # Given to a file, since a program that is never read would fill a pipe.
        given = subprocess.DEVNULL
        if source is not None:
            program = self.folder / "program"
            program.write_text(source)
            given = program.open()
        with self.interruptions.hold():
            child = subprocess.Popen([self.berth, *arguments, *place], stdin=given, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, start_new_session=True)
            self.running.append(child)
        if source is not None:
            given.close()
        return child

    def wait(self, child, seconds):
        """Code, standard output and standard error; past its time it is cancelled, as by Ctrl-C."""
        try:
            out, err = child.communicate(timeout=max(1, seconds))
        except subprocess.TimeoutExpired:
            self.stop(child)
            raise Failed(f"it was not over after {seconds:.0f} s") from None
        self.running.remove(child)
        return child.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def stop(self, child):
        """Ctrl-C, patience for what berth then cleans up, and only then an end by force."""
        try:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
            child.communicate(timeout=self.patience)
        except (subprocess.TimeoutExpired, ValueError):
            self.kill(child)
        if child in self.running:
            self.running.remove(child)

    def kill(self, child):
        """As when the machine dies: berth and all it has started, at once."""
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        for stream in (child.stdout, child.stderr):
            stream.close()
        if child in self.running:
            self.running.remove(child)

    def tell(self, *arguments, source=None, seconds=None):
        return self.wait(self.start(*arguments, source=source), self.patience if seconds is None else seconds)

    def asked(self, *arguments):
        """The JSON document of a command that looks and makes nothing."""
        _, out, err = self.tell(*arguments, "--json")
        try:
            return json.loads(out)
        except ValueError:
            raise Failed(f"berth {' '.join(arguments)} printed no document: {err.strip()}") from None

    def run(self, source, call, *arguments):
        return self.tell(*self.run_arguments(call), *arguments, source=source, seconds=self.seconds_left())

    @staticmethod
    def run_arguments(call):
        # No keeper: berth and its provider are one process group, which a case can end as one.
        return ("run", "-", "--call", call, "--owner", OWNER, "--session", SESSION, "--no-templates")

    def begin(self, source, call):
        """A program that runs on; returns once its first line of output has come."""
        child = self.start(*self.run_arguments(call), "--language", "python", source=source)
        end = time.monotonic() + self.seconds_left()
        while time.monotonic() < end:
            if select.select([child.stdout], [], [], 1)[0]:
                line = child.stdout.readline()
                if line:
                    return child
                _, err = child.communicate()
                self.running.remove(child)
                raise Failed(f"it ended with {child.returncode} before it said anything: {err.decode().strip()}")
        raise CeilingReached("the ceiling of seconds is reached")

    def intents(self):
        return self.asked("intents")["intents"]

    def intent(self, call):
        found = [one for one in self.intents() if one["call"] == call]
        expect(len(found) == 1, f"{call} has {len(found)} intents")
        return found[0]

    def receipt(self, call):
        found = [one for one in self.asked("receipts")["receipts"] if one["call"] == call]
        expect(len(found) == 1, f"{call} has {len(found)} receipts")
        return found[0]

    def expect_gone(self, call):
        intent = self.intent(call)
        expect(self.witness.is_gone(intent["name"], intent["ref"], self.patience), f"{intent['name']} is still at the service")

    def finish(self, say):
        """Ends what runs, settles what is open, and asks the service itself. Three things: the names of sandboxes that
        may be left, of those that berth left and this deleted, and how many there were."""
        for child in list(self.running):
            self.stop(child)
        if not (self.folder / "state").exists():
            return [], [], 0
        try:
            made = self._settled(say)
        except Failed as failed:
            say(str(failed))
            # What berth cannot tell may be any of those that were begun.
            return [f"of {self.calls} calls, sandboxes whose names are not known"], [], self.calls
        left, forced = [], []
        for intent in made:
            name, ref = intent["name"], intent["ref"]
            try:
                if self.witness.is_there(name, ref):
                    forced.append(name)
                    self.witness.delete(name)
                if not self.witness.is_gone(name, ref, self.patience):
                    left.append(name)
            except ServiceError as error:
                say(str(error))
                left.append(name)
        return left, forced, len(made)

    def _settled(self, say):
        """The intents whose sandboxes were asked for, after reconciling until all are over or time is up."""
        end = time.monotonic() + self.patience
        while True:
            made = [one for one in self.intents() if one["dispatched"]]
            if all(one["state"] == "RELEASED" for one in made) or time.monotonic() >= end:
                return made
            try:
                code, out, err = self.tell("reconcile")
                problem = (err or out).strip() if code != 0 else ""
            except Failed as failed:
                problem = str(failed)
            if problem:
                say(f"reconcile: {problem}")
                time.sleep(2)
