#!/usr/bin/python3
"""Runs what has to work at Daytona and at Vercel Sandbox at the services themselves, within a ceiling of cost.

Credentials come from the environment. It prints the ceiling first, makes one sandbox at a time, and at the end asks
the service itself whether every one of them is gone, also after Ctrl-C. Exit codes: 0 all passed; 1 something
failed, or was not run; 2 usage; 3 no credentials, nothing was done; 4 a sandbox may be left at the service, and it is
said which; 130, 143, 129 ended by a signal, everything gone.
"""

import argparse
import os
import signal
import shutil
import sys
import tempfile
import time
from pathlib import Path

import service
from bench import LIFETIME_MINUTES, Bench, CeilingReached, Failed
from cases import CASES
from interruptions import Ended, Interruptions

PASSED, FAILED, USAGE, NO_CREDENTIALS, LEFT = 0, 1, 2, 3, 4
SECONDS_DEFAULT, PATIENCE_DEFAULT = 900, 180


def say(text=""):
    print(text, flush=True)


def read_arguments():
    parser = argparse.ArgumentParser(prog="tests/live/run", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("service", nargs="*", help="daytona, vercel; by default those whose credentials are set")
    parser.add_argument("--berth", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="only whether credentials are set; nothing is asked")
    parser.add_argument("--sandboxes", type=int, help="at most this many at each service; by default what all cases need")
    parser.add_argument("--seconds", type=int, default=SECONDS_DEFAULT,
                        help=f"nothing begins after this long at each service; by default {SECONDS_DEFAULT}")
    parser.add_argument("--patience", type=int, default=PATIENCE_DEFAULT,
                        help=f"how long cleaning up may take after that; by default {PATIENCE_DEFAULT}")
    parser.add_argument("--api-url", default="", help="another address of the one service that is named")
    parser.add_argument("--ca-file", default="", help="authorities (PEM) to trust besides the system's")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.service if name not in service.SERVICES]
    if unknown:
        parser.error(f"there is no service {unknown[0]}; there are {', '.join(service.SERVICES)}")
    if arguments.api_url and len(arguments.service) != 1:
        parser.error("--api-url needs the name of one service")
    if os.environ.get("CI") and not arguments.api_url:
        parser.error("this costs money at real services and is not for continuous integration (CI is set)")
    return arguments


def chosen(arguments):
    """Which services; none when credentials are missing, which is then said."""
    names = arguments.service or service.with_credentials()
    missing = [name for name in (names or service.SERVICES)
               if not service.SERVICES[name].has_credentials(os.environ)]
    for name in missing:
        say(f"live: {name} needs {service.SERVICES[name].wanted()} in the environment")
    return [] if missing else names


def run_cases(bench):
    """How many passed, and how many did not."""
    passed = bad = 0
    for function, sandboxes in CASES:
        began, left = time.monotonic(), bench.sandboxes_left
        word, why = "pass", ""
        try:
            if sandboxes > left:
                raise CeilingReached("the ceiling of sandboxes is reached")
            function(bench)
        except CeilingReached as reached:
            word, why = "not run", str(reached)
        except (Failed, service.ServiceError) as failed:
            word, why = "FAIL", str(failed)
        passed, bad = passed + (word == "pass"), bad + (word != "pass")
        say(f"{word:<8}{function.__doc__} ({time.monotonic() - began:.1f} s, sandboxes: {left - bench.sandboxes_left})")
        if why:
            say(f"        {why}")
        for child in list(bench.running):
            bench.stop(child)
    return passed, bad


def run_at(witness, arguments, interruptions):
    """The exit code of one service."""
    needed = sum(sandboxes for _, sandboxes in CASES)
    most = needed if arguments.sandboxes is None else min(needed, arguments.sandboxes)
    say(f"live: {witness.name} at {witness.address}")
    say(f"live: at most {most} sandboxes, one at a time; nothing begins after {arguments.seconds} s, and cleaning up "
        f"waits at most {arguments.patience} s for each step; each sandbox ends by itself after {LIFETIME_MINUTES} minutes")
    try:
        others = witness.listed()
    except service.ServiceError as error:
        say(f"live: nothing was made: {error}")
        return FAILED
    folder = Path(tempfile.mkdtemp(prefix=f"berth-live-{witness.name}-"))
    bench = Bench(arguments.berth, witness, folder, most, arguments.seconds, arguments.patience,
                  interruptions)
    began = time.monotonic()
    passed, bad, ended = 0, 0, None
    try:
        passed, bad = run_cases(bench)
    except Ended as signalled:
        ended = signalled.number
        say(f"live: ended by {signal.Signals(ended).name}; cleaning up")
    finally:
        interruptions.ignore()
        left, forced, made = bench.finish(say)
        interruptions.listen()
    seconds = time.monotonic() - began
    for name in forced:
        say(f"FAIL    {name} was left by berth; this program deleted it")
    if left:
        say(f"live: {len(left)} may be left at {witness.name}: {', '.join(left)}")
        say(f"live: berth reconcile --state-dir {folder / 'state'} --config {bench.config}")
        return LEFT
    shutil.rmtree(folder, ignore_errors=True)
    say(f"live: {made} sandboxes in {seconds:.1f} s, every one gone {witness.asked} "
        f"(of {len(others)} before)")
    say(f"live: {witness.name}: {passed} passed, {bad + len(forced)} not")
    if ended is not None:
        return 128 + ended
    return FAILED if bad or forced else PASSED


def main():
    arguments = read_arguments()
    interruptions = Interruptions()
    interruptions.listen()
    names = chosen(arguments)
    if not names:
        return NO_CREDENTIALS
    if arguments.check:
        return PASSED
    worst = PASSED
    try:
        for name in names:
            witness = service.SERVICES[name](os.environ, arguments.api_url, arguments.ca_file)
            code = run_at(witness, arguments, interruptions)
            if code > 128:
                return code
            worst = max(worst, code)
    except Ended as signalled:
        return 128 + signalled.number
    except service.ServiceError as error:
        say(f"live: {error}")
        return NO_CREDENTIALS
    return worst


if __name__ == "__main__":
    sys.exit(main())
