# Runs one program in a sandbox and tells of it in lines of plain text, for a service whose logs are
# text, may come twice and may come in part: "~o 7 BASE64" is output, with its place in the order;
# "~x 9 exited 3 1200 0" is the end, with what the program wrote to each stream.
# Arguments: seconds (0: none), folder, "-" where the program has input, cap of each stream, how many
# variables, the variables, the program. Input comes in lines, too: "3 BASE64", and "4 ." at its end;
# a line that comes twice is taken once.
import base64, os, select, signal, sys, time

a = sys.argv[1:]
limit, folder, has_input = float(a[0]), a[1], a[2] == "-"
caps = {"o": int(a[3]), "e": int(a[4])}
count = int(a[5])
environment = dict(os.environ)
for pair in a[6:6 + count]:
    key, _, value = pair.partition("=")
    environment[key] = value
argv = a[6 + count:]
total = {"o": 0, "e": 0}
place = 0


def tell(kind, text):
    global place
    line = b"~%s %d %s\n" % (kind.encode(), place, text)
    place += 1
    while line:
        line = line[os.write(1, line):]


def descendants():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as f:
                    parents.setdefault(int(f.read().rpartition(b")")[2].split()[1]), []).append(int(name))
            except (OSError, IndexError, ValueError):
                pass
    found, ahead = [], [os.getpid()]
    while ahead:
        for pid in parents.get(ahead.pop(), ()):
            found.append(pid)
            ahead.append(pid)
    return found


def end_all():
    for _ in range(400):
        left = descendants()
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reap()
        time.sleep(0.005)


ended = None


def reap():
    global ended
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid == program:
            ended = status


def stop(*_):
    end_all()
    os._exit(143)


try:
    # Orphans become this process's, so that none is missed.
    import ctypes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
except Exception:
    pass
out_read, out_write = os.pipe()
err_read, err_write = os.pipe()
in_read, in_write = os.pipe()
program = os.fork()
if program == 0:
    try:
        os.setpgid(0, 0)
        os.dup2(in_read, 0)
        os.dup2(out_write, 1)
        os.dup2(err_write, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if folder:
            os.chdir(folder)
            environment["PWD"] = folder
        os.execvpe(argv[0], argv, environment)
    except OSError as wrong:
        os.write(2, ("cannot run %s: %s\n" % (argv[0], wrong.strerror)).encode("utf-8", "surrogateescape"))
        os._exit(127 if isinstance(wrong, FileNotFoundError) else 126)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, stop)
os.close(out_write)
os.close(err_write)
os.close(in_read)
os.set_blocking(in_write, False)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
lines, pending, next_input = b"", b"", 0
streams = {out_read: "o", err_read: "e"}
poll = select.poll()
for fd in streams:
    poll.register(fd, select.POLLIN)
try:
    gone = os.pidfd_open(program)
    poll.register(gone, select.POLLIN)
except (AttributeError, OSError):
    gone = -1


def close_input():
    global in_write
    if in_write >= 0:
        if pending:
            poll.unregister(in_write)
        os.close(in_write)
        in_write = -1


def give_input():
    # What the program does not take now waits here.
    global pending
    before = len(pending)
    try:
        pending = pending[os.write(in_write, pending):]
    except BlockingIOError:
        pass
    except OSError:
        poll_input(False)
        close_input()
        pending = b""
        return
    if before and not pending:
        poll.unregister(in_write)


def poll_input(on):
    global input_polled
    if on != input_polled:
        input_polled = on
        (poll.register if on else poll.unregister)(*((0, select.POLLIN) if on else (0,)))


def take_input(more):
    global lines, pending, next_input, input_over
    lines += more
    while b"\n" in lines:
        line, _, lines = lines.partition(b"\n")
        number, _, text = line.strip().partition(b" ")
        if not number.isdigit() or int(number) != next_input or input_over:
            continue
        next_input += 1
        if text == b".":
            input_over = True
        elif in_write >= 0:
            if not pending:
                poll.register(in_write, select.POLLOUT)
            pending += base64.b64decode(text)
    if not more:
        input_over = True


input_polled, input_over = False, not has_input
poll_input(has_input)
if not has_input:
    close_input()
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
    for fd, _ in poll.poll(wait):
        if fd == gone:
            poll.unregister(gone)
            continue
        if fd == 0 or fd == in_write:
            if fd == 0:
                take_input(os.read(0, 65536))
            elif in_write >= 0:
                give_input()
            if input_over and not pending:
                close_input()
            # A program that takes nothing is not given more than this.
            poll_input(not input_over and in_write >= 0 and len(pending) < 1 << 20)
            continue
        kind = streams[fd]
        bytes_read = os.read(fd, 12288)
        if not bytes_read:
            poll.unregister(fd)
            del streams[fd]
            continue
        # One byte beyond the cap tells that there was more.
        room = caps[kind] + 1 - total[kind] if caps[kind] else len(bytes_read)
        total[kind] += len(bytes_read)
        if room > 0:
            tell(kind, base64.b64encode(bytes_read[:room]))
    if ended is None:
        reap()
    if ended is not None and drain is None:
        end_all()
        drain = time.monotonic() + 2
if late:
    cause = "wall 0"
elif os.WIFSIGNALED(ended):
    cause = "signalled %d" % os.WTERMSIG(ended)
else:
    cause = "exited %d" % os.WEXITSTATUS(ended)
tell("x", ("%s %d %d" % (cause, total["o"], total["e"])).encode())
