# Runs one program in a sandbox whose service carries text only, has no standard input and turns a
# signal into an exit code: ":BASE64" is a piece of output, on the stream it belongs to, and
# "~exited 3 1200 0" the end. What to run is JSON in BERTH_SPEC_0, BERTH_SPEC_1, ...
# Its input comes in files: PATH.0, PATH.1, ..., each whole once PATH.N.ok is there; an empty one is
# the end.
import base64, json, os, select, signal, sys, time

text = b""
part = 0
while b"BERTH_SPEC_%d" % part in os.environb:
    text += os.environb.pop(b"BERTH_SPEC_%d" % part)
    part += 1
spec = json.loads(text)
environment = dict(os.environb)
for key, value in spec["env"]:
    environment[key.encode()] = value.encode()
mark = b"BERTH_COMMAND=" + spec["token"].encode()
try:
    # Orphans become this process's, so that none is missed, and nothing need be seen of it.
    import ctypes
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
        raise OSError
except Exception:
    environment[b"BERTH_COMMAND"] = spec["token"].encode()
argv = [word.encode() for word in spec["argv"]]
limit = spec["limit_ms"] / 1000
me = os.getpid()


def tell(fd, line):
    line += b"\n"
    while line:
        line = line[os.write(fd, line):]


def left():
    # What carries the mark of this run, descends from here, or is of the program's group.
    parents, found = {}, set()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == me:
            continue
        pid = int(name)
        try:
            with open("/proc/%s/stat" % name, "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                continue
            parents.setdefault(int(fields[1]), []).append(pid)
            if int(fields[2]) == program:
                found.add(pid)
            with open("/proc/%s/environ" % name, "rb") as f:
                if mark in f.read().split(b"\0"):
                    found.add(pid)
        except (OSError, IndexError, ValueError):
            pass
    ahead = [me] + list(found)
    while ahead:
        for pid in parents.get(ahead.pop(), ()):
            if pid not in found:
                found.add(pid)
                ahead.append(pid)
    return found


def end_all():
    for _ in range(400):
        reap()
        pids = left()
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.005)


ended = None


def reap():
    global ended
    if ended is not None:
        return
    try:
        pid, status = os.waitpid(program, os.WNOHANG)
    except ChildProcessError:
        return
    if pid == program:
        ended = status


def stop(*_):
    end_all()
    os._exit(143)


source = spec["stdin"]
out_read, out_write = os.pipe()
err_read, err_write = os.pipe()
in_read, in_write = os.pipe() if source else (os.open("/dev/null", os.O_RDONLY), -1)
program = os.fork()
if program == 0:
    try:
        os.setpgid(0, 0)
        os.dup2(in_read, 0)
        os.dup2(out_write, 1)
        os.dup2(err_write, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if spec["cwd"]:
            os.chdir(spec["cwd"])
            environment[b"PWD"] = spec["cwd"].encode()
        os.execvpe(argv[0], argv, environment)
    except OSError as wrong:
        os.write(2, b"cannot run %s: %s\n" % (argv[0], wrong.strerror.encode()))
        os._exit(127 if isinstance(wrong, FileNotFoundError) else 126)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, stop)
os.close(out_write)
os.close(err_write)
os.close(in_read)
if source:
    os.set_blocking(in_write, False)
pending, part, pause = b"", 0, 5
streams = {out_read: 1, err_read: 2}
caps = {1: spec["stdout_cap"], 2: spec["stderr_cap"]}
total = {1: 0, 2: 0}
poll = select.poll()
for fd in streams:
    poll.register(fd, select.POLLIN)
try:
    gone = os.pidfd_open(program)
    poll.register(gone, select.POLLIN)
except (AttributeError, OSError):
    gone = -1


def close_input():
    global in_write, pending
    if pending:
        poll.unregister(in_write)
    os.close(in_write)
    in_write, pending = -1, b""


def take_input():
    # The next part, once the program has taken the one before.
    global pending, part, pause
    name = "%s.%d" % (source, part)
    if not os.path.exists(name + ".ok"):
        pause = min(2 * pause, 50)
        return
    with open(name, "rb") as f:
        pending = f.read()
    os.unlink(name + ".ok")
    os.unlink(name)
    part, pause = part + 1, 5
    if pending:
        poll.register(in_write, select.POLLOUT)
    else:
        close_input()


def give_input():
    global pending
    try:
        pending = pending[os.write(in_write, pending):]
    except BlockingIOError:
        return
    except OSError:
        close_input()
        return
    if not pending:
        poll.unregister(in_write)


deadline = time.monotonic() + limit if limit else None
late = False
drain = None
while streams or ended is None:
    now = time.monotonic()
    if deadline is not None and now >= deadline and ended is None and not late:
        late = True
        end_all()
    if drain is not None and now >= drain:
        break
    wait = 1000 if gone >= 0 and ended is None else 20
    if deadline is not None and not late:
        wait = max(0, min(wait, int((deadline - now) * 1000) + 1))
    if in_write >= 0 and not pending:
        wait = min(wait, pause)
    for fd, _ in poll.poll(wait):
        if fd == gone:
            poll.unregister(gone)
            continue
        if fd == in_write:
            give_input()
            continue
        kind = streams[fd]
        piece = os.read(fd, 12288)
        if not piece:
            poll.unregister(fd)
            del streams[fd]
            continue
        room = caps[kind] + 1 - total[kind] if caps[kind] else len(piece)
        total[kind] += len(piece)
        if room > 0:
            tell(kind, b":" + base64.b64encode(piece[:room]))
    if in_write >= 0 and not pending:
        take_input()
    reap()
    if ended is not None and drain is None:
        end_all()
        drain = time.monotonic() + 2
if source:
    # A part that came when nobody wanted it, or came twice.
    folder, _, prefix = source.rpartition("/")
    for name in os.listdir(folder):
        if name.startswith(prefix + "."):
            try:
                os.unlink(folder + "/" + name)
            except OSError:
                pass
if late:
    cause, how = b"wall", 0
elif os.WIFSIGNALED(ended):
    cause, how = b"signalled", os.WTERMSIG(ended)
else:
    cause, how = b"exited", os.WEXITSTATUS(ended)
tell(1, b"~%s %d %d %d" % (cause, how, total[1], total[2]))
