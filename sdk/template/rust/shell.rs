//! A command of this machine as the work of an operation: one script with its arguments, given to a
//! shell that may be on another machine.
use crate::abi::*;
use std::fs::File;
use std::io::Read;
use std::os::raw::{c_int, c_long, c_void};
use std::os::unix::io::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

const ASK_AGAIN_MS: c_int = 50; // for a host without descriptors, and for the program's own time
const TEXT_BYTES_MAX: usize = 4096;
const PIPE_BYTES: usize = 4096; // as much as a pipe that can be written takes without waiting

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: i16,
    revents: i16,
}
const POLLIN: i16 = 1;
const POLLOUT: i16 = 4;
const SIGKILL: c_int = 9;
const SIGPIPE: c_int = 13;
const SYS_PIDFD_OPEN: c_long = 434;

type SignalSet = [u64; 16];

extern "C" {
    fn poll(fds: *mut PollFd, count: u64, timeout_ms: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn setsid() -> c_int;
    fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize;
    fn syscall(number: c_long, ...) -> c_long;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, before: *mut SignalSet) -> c_int;
    fn sigtimedwait(set: *const SignalSet, info: *mut c_void, timeout: *const [i64; 2]) -> c_int;
}

/// The host's table; every function of it may be called from any thread.
#[derive(Clone, Copy)]
pub struct Host(pub *const berth_host_v1);
unsafe impl Send for Host {}
unsafe impl Sync for Host {}

impl Host {
    fn table(&self) -> &berth_host_v1 {
        unsafe { &*self.0 }
    }
    pub fn complete(&self, op: berth_op, outcome: &berth_outcome) {
        unsafe { self.table().op_complete.unwrap()(self.table().ctx, op, outcome) }
    }
    fn cancelled(&self, op: berth_op) -> bool {
        unsafe { self.table().op_cancelled.unwrap()(self.table().ctx, op) != 0 }
    }
    fn cancel_fd(&self, op: berth_op) -> c_int {
        unsafe { self.table().op_cancel_fd.unwrap()(self.table().ctx, op) }
    }
    fn ready_fd(&self, op: berth_op) -> c_int {
        unsafe { self.table().op_ready_fd.unwrap()(self.table().ctx, op) }
    }
    fn wait(&self, op: berth_op) -> berth_wait_status {
        unsafe { self.table().op_wait.unwrap()(self.table().ctx, op, 0) }
    }
    fn output(&self, op: berth_op, stream: berth_stream, bytes: &[u8]) -> berth_flow {
        let bytes = berth_bytes { ptr: bytes.as_ptr(), len: bytes.len() as u64 };
        unsafe { self.table().output.unwrap()(self.table().ctx, op, stream, bytes) }
    }
    fn input(&self, op: berth_op, buffer: &mut [u8], got: &mut u64) -> berth_input_status {
        unsafe { self.table().input.unwrap()(self.table().ctx, op, buffer.as_mut_ptr(), buffer.len() as u64, got) }
    }
    fn now(&self) -> u64 {
        unsafe { self.table().now.unwrap()(self.table().ctx) }
    }
    pub fn post(&self, task: berth_task_fn, user: *mut c_void) -> bool {
        unsafe { self.table().post_blocking.unwrap()(self.table().ctx, task, user) != 0 }
    }
    /// The texts of a configuration value, which arrives as JSON that the host has checked.
    pub fn config(&self, key: &str) -> Vec<String> {
        unsafe extern "C" fn append(user: *mut c_void, ptr: *const u8, len: u64) {
            if len != 0 {
                (*(user as *mut Vec<u8>)).extend_from_slice(std::slice::from_raw_parts(ptr, len as usize));
            }
        }
        let mut json: Vec<u8> = Vec::new();
        let user = &mut json as *mut Vec<u8> as *mut c_void;
        unsafe { self.table().config_get.unwrap()(self.table().ctx, text(key), Some(append), user) };
        let json = String::from_utf8_lossy(&json);
        json.split('"').skip(1).step_by(2).map(String::from).collect()
    }
}

pub fn text(from: &str) -> berth_str {
    berth_str { ptr: from.as_ptr(), len: from.len() as u64 }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Where {
    Keep,
    Streams,
    AsFile,
}

/// What is asked, and how long for.
#[derive(Clone)]
pub struct Call {
    pub host: Host,
    pub op: berth_op,
    pub words: Vec<String>,     // the shell's, and the script's last
    pub stop: Option<Vec<String>>, // what ends the program over there before its time
    pub to: Where,
    pub takes_input: bool,
    pub in_any_case: bool, // also when the operation is cancelled
    pub timeout_ns: u64,   // 0: none
}

#[derive(Default)]
pub struct Heard {
    pub code: Option<i32>, // none when it was not heard to its end
    pub cause: berth_cause, // CANCELLED or WALL when it was ended early, else UNKNOWN
    pub said: String,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

struct Running<'a> {
    call: &'a Call,
    child: Child,
    exit: File,
    input: Option<File>,
    out: Option<File>,
    err: Option<File>,
    pending: Vec<u8>, // input that is not written yet
    limited: [bool; 2],
    cancelled: bool,
    ended: bool,
    kept: Vec<u8>,
    heard: Heard,
}

impl Call {
    /// Waits; for lent threads only. None when the shell could not be started: nothing was done then.
    pub fn talk(&self) -> Option<Heard> {
        let started_ns = self.host.now();
        let mut running = Running::start(self)?;
        while !running.ended || running.anything_left() {
            running.heard.cause = running.why_stop(started_ns);
            if running.heard.cause != BERTH_CAUSE_UNKNOWN {
                self.say_stop();
                break;
            }
            running.attend();
        }
        Some(running.finish())
    }

    fn say_stop(&self) {
        if let Some(words) = &self.stop {
            let stop = Call {
                words: words.clone(),
                stop: None,
                to: Where::Keep,
                takes_input: false,
                in_any_case: true,
                timeout_ns: 20_000_000_000,
                ..self.clone()
            };
            stop.talk();
        }
    }
}

impl<'a> Running<'a> {
    fn start(call: &'a Call) -> Option<Running<'a>> {
        let mut command = Command::new(&call.words[0]);
        command.args(&call.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        unsafe {
            command.pre_exec(|| {
                setsid();
                Ok(())
            });
        }
        let mut child = command.spawn().ok()?;
        let exit = unsafe { syscall(SYS_PIDFD_OPEN, child.id() as c_int, 0 as c_int) } as c_int;
        let file = |fd: c_int| unsafe { File::from_raw_fd(fd) };
        let input = child.stdin.take().map(|pipe| file(pipe.into_raw_fd()));
        Some(Running {
            call,
            exit: file(exit),
            input: if call.takes_input { input } else { None },
            out: child.stdout.take().map(|pipe| file(pipe.into_raw_fd())),
            err: child.stderr.take().map(|pipe| file(pipe.into_raw_fd())),
            child,
            pending: Vec::new(),
            limited: [false, false],
            cancelled: false,
            ended: false,
            kept: Vec::new(),
            heard: Heard::default(),
        })
    }

    fn why_stop(&self, started_ns: u64) -> berth_cause {
        let host = &self.call.host;
        if !self.call.in_any_case && (self.cancelled || host.cancelled(self.call.op)) {
            BERTH_CAUSE_CANCELLED
        } else if self.call.timeout_ns != 0 && host.now() - started_ns >= self.call.timeout_ns {
            BERTH_CAUSE_WALL
        } else {
            BERTH_CAUSE_UNKNOWN
        }
    }

    fn anything_left(&self) -> bool {
        let mut fds = [waits(&self.out, POLLIN), waits(&self.err, POLLIN)];
        unsafe { poll(fds.as_mut_ptr(), 2, 0) > 0 }
    }

    /// Waits for something to do, and does it.
    fn attend(&mut self) {
        self.refill();
        let (host, op) = (self.call.host, self.call.op);
        let wants = self.input.is_some() && self.pending.is_empty();
        let has = self.input.is_some() && !self.pending.is_empty();
        let none = PollFd { fd: -1, events: 0, revents: 0 };
        let mut fds = [
            waits(&self.out, POLLIN),
            waits(&self.err, POLLIN),
            if has { waits(&self.input, POLLOUT) } else { none },
            PollFd { fd: if wants { host.ready_fd(op) } else { -1 }, events: POLLIN, revents: 0 },
            PollFd { fd: if self.call.in_any_case { -1 } else { host.cancel_fd(op) }, events: POLLIN, revents: 0 },
            PollFd { fd: if self.ended { -1 } else { self.exit.as_raw_fd() }, events: POLLIN, revents: 0 },
        ];
        unsafe { poll(fds.as_mut_ptr(), 6, if self.ended { 0 } else { ASK_AGAIN_MS }) };
        if fds[2].revents != 0 {
            self.feed();
        }
        if fds[0].revents != 0 {
            self.forward(true);
        }
        if fds[1].revents != 0 {
            self.forward(false);
        }
        if fds[5].revents != 0 {
            self.ended = true;
            self.kill_session(); // what the program left running ends too
        }
    }

    fn refill(&mut self) {
        if self.input.is_none() || !self.pending.is_empty() {
            return;
        }
        let mut buffer = [0u8; PIPE_BYTES];
        let mut got = 0;
        match self.call.host.input(self.call.op, &mut buffer, &mut got) {
            BERTH_INPUT_DATA => self.pending.extend_from_slice(&buffer[..got as usize]),
            BERTH_INPUT_AGAIN => {}
            _ => self.input = None,
        }
    }

    /// Signals belong to the process: the one for a program that reads no more is taken back here.
    fn feed(&mut self) {
        let fd = self.input.as_ref().unwrap().as_raw_fd();
        let mut pipe_only: SignalSet = [0; 16];
        pipe_only[0] = 1 << (SIGPIPE - 1);
        let mut before: SignalSet = [0; 16];
        let written = unsafe {
            pthread_sigmask(0, &pipe_only, &mut before);
            let written = write(fd, self.pending.as_ptr() as *const c_void, self.pending.len());
            if written < 0 && before[0] & pipe_only[0] == 0 {
                sigtimedwait(&pipe_only, std::ptr::null_mut(), &[0, 0]);
            }
            pthread_sigmask(2, &before, std::ptr::null_mut());
            written
        };
        if written > 0 {
            self.pending.drain(..written as usize);
        } else {
            self.input = None;
        }
    }

    fn forward(&mut self, is_out: bool) {
        let mut buffer = [0u8; 16384];
        let from = if is_out { &mut self.out } else { &mut self.err };
        let got = from.as_mut().map_or(0, |file| file.read(&mut buffer).unwrap_or(0));
        if got == 0 {
            *from = None;
            return;
        }
        let bytes = &buffer[..got];
        *(if is_out { &mut self.heard.stdout_bytes } else { &mut self.heard.stderr_bytes }) += got as u64;
        let call = self.call;
        let stream = match (call.to, is_out) {
            (Where::Keep, true) => {
                let left = TEXT_BYTES_MAX - self.kept.len();
                return self.kept.extend_from_slice(&bytes[..got.min(left)]);
            }
            (Where::Keep, false) | (Where::AsFile, false) => return,
            (Where::AsFile, true) => BERTH_STREAM_FILE,
            (Where::Streams, true) => BERTH_STREAM_STDOUT,
            (Where::Streams, false) => BERTH_STREAM_STDERR,
        };
        if self.limited[is_out as usize] {
            return;
        }
        match call.host.output(call.op, stream, bytes) {
            BERTH_OUTPUT_ACCEPTED => {}
            BERTH_OUTPUT_LIMIT => self.limited[is_out as usize] = true,
            BERTH_OUTPUT_PAUSE => self.cancelled = call.host.wait(call.op) == BERTH_WAIT_CANCELLED,
            _ => self.cancelled = true,
        }
    }

    fn kill_session(&self) {
        unsafe { kill(-(self.child.id() as c_int), SIGKILL) };
    }

    /// The session goes before its leader is reaped: until then nobody else can have its number.
    fn finish(mut self) -> Heard {
        self.kill_session();
        let status = self.child.wait();
        if self.heard.cause == BERTH_CAUSE_UNKNOWN {
            self.heard.code = status.ok().filter(|end| end.signal().is_none()).and_then(|end| end.code());
        }
        self.heard.said = String::from_utf8_lossy(&self.kept).into_owned();
        self.heard
    }
}

fn waits(file: &Option<File>, events: i16) -> PollFd {
    PollFd { fd: file.as_ref().map_or(-1, |open| open.as_raw_fd()), events, revents: 0 }
}
