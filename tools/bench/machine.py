"""The machine that is measured, and whether somebody else is using it."""

import datetime
import os
import platform
import time
from pathlib import Path

# Beyond this share of all processors, a figure is not claimed.
OTHERS_MAX = 0.05
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def about():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file
                      if line.startswith("model name")), platform.machine())
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "load_average": os.getloadavg()[0],
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def processes():
    """pid -> (parent, processor ticks of it and of the children it has waited for)."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            text = Path("/proc", entry, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        found[int(entry)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found


def is_own(pid, all_processes):
    """Whether it is this process, below it, or the kernel's own, which also works for us."""
    while pid in all_processes and pid > 2:
        if pid == os.getpid():
            return True
        pid = all_processes[pid][0]
    return pid == 2


def strangers(all_processes):
    """Ticks of everybody else. Process 1 is among them, since it waits for orphans."""
    return sum(ticks for pid, (_, ticks) in all_processes.items() if not is_own(pid, all_processes))


class Others:
    """What everybody else takes of the processors while a measurement goes on. What a process took is
    still there once it has ended, in the parent that has waited for it."""

    def __init__(self):
        self._before = strangers(processes())
        self._begun = time.monotonic()

    def share(self):
        """Of all processors, 0 to 1, since this was made."""
        ticks = strangers(processes()) - self._before
        took = max(time.monotonic() - self._begun, 0.01)
        return max(ticks, 0) / TICKS_A_SECOND / took / os.cpu_count()

    def noise(self):
        """Empty, or why no claim can be made of what was measured meanwhile."""
        share = self.share()
        return f"others used {share:.0%} of the processors" if share > OTHERS_MAX else ""


def await_idle(seconds, look=0.5):
    """Waits until nobody else uses the processors, at most so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        others = Others()
        time.sleep(look)
        if others.share() <= OTHERS_MAX:
            return


def warning(seconds=1.0):
    """Looks for a moment whether the machine is idle. Empty, or a sentence for people."""
    others = Others()
    time.sleep(seconds)
    load, share = os.getloadavg()[0], others.share()
    if share > OTHERS_MAX:
        return (f"this machine is not idle: load average {load:.1f}, and others use {share:.0%} of the "
                "processors; of what is measured like this nothing is claimed")
    if load > 0.5 * os.cpu_count():
        return (f"the load average is {load:.1f}, of work that has ended by now; every figure is marked "
                "whose measurement others disturb")
    return ""
