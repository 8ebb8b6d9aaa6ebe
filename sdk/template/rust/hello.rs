//! Sandboxes on any machine that a command such as ssh reaches, in Rust against the binary contract
//! alone: folders there, and programs in namespaces of their own. hello.sh is what is done there,
//! shell.rs how it is asked; this file is when, and what to make of the answer.
//!
//! Every slot hands its work to a thread the host lends, because a shell has to be waited for. The
//! arguments of an operation live until it is completed, so the work reads them where they are.
#[path = "abi.rs"]
mod abi;
mod shell;

use abi::*;
use shell::{text, Call, Heard, Host, Where};
use std::mem::{size_of, zeroed};
use std::os::raw::c_void;
use std::sync::Mutex;

const SCRIPT: &str = include_str!("hello.sh");

#[derive(Clone)]
struct State {
    host: Host,
    is_open: bool,
    operations: u32,
    shutdown: berth_op, // waits for the last operation; 0: none
    runs: u32,
    shell: Vec<String>,
    folder: String,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

fn with_state<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    use_it(state.as_mut().expect("the entry came first"))
}

/// An outcome other than DONE: its class is a claim about what may exist now.
struct Failure {
    class: berth_outcome_class,
    code: berth_code,
    message: String,
}

fn rejected(code: berth_code, message: &str) -> Failure {
    Failure { class: BERTH_REJECTED, code, message: message.into() }
}

fn uncertain(message: &str) -> Failure {
    Failure { class: BERTH_UNCERTAIN, code: BERTH_CODE_UNAVAILABLE, message: message.into() }
}

/// One operation on its lent thread, with what the provider knew when it began.
struct Operation {
    op: berth_op,
    state: State,
}

/// Text of the host's, as long as the operation lasts.
fn view<'a>(from: berth_str) -> &'a str {
    if from.len == 0 {
        return "";
    }
    let bytes = unsafe { std::slice::from_raw_parts(from.ptr, from.len as usize) };
    std::str::from_utf8(bytes).unwrap_or("")
}

fn items<'a, T>(ptr: *const T, count: u64) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(ptr, count as usize) }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn pairs(list: &berth_pair_list) -> Vec<String> {
    items(list.items, list.count).iter().map(|pair| format!("{}={}", view(pair.key), view(pair.value))).collect()
}

fn asks_for_any(limits: *const berth_limits) -> bool {
    unsafe { limits.as_ref() }.map_or(false, |l| {
        l.cpu_millis != 0
            || l.memory_bytes != 0
            || l.cpu_time_ns != 0
            || l.disk_bytes != 0
            || l.file_size_bytes != 0
            || l.processes != 0
            || l.open_files != 0
    })
}

macro_rules! result {
    ($kind:ty { $($field:ident: $value:expr),* }) => {{
        let mut it: $kind = unsafe { zeroed() };
        it.struct_size = size_of::<$kind>() as u32;
        $(it.$field = $value;)*
        it
    }};
}

impl Operation {
    fn done<T>(&self, result: *const T) {
        let outcome = result!(berth_outcome { outcome_class: BERTH_DONE, result: result as *const c_void });
        self.state.host.complete(self.op, &outcome);
    }

    fn failed(&self, failure: &Failure) {
        let outcome = result!(berth_outcome {
            outcome_class: failure.class,
            code: failure.code,
            message: text(&failure.message)
        });
        self.state.host.complete(self.op, &outcome);
    }

    fn words(&self, call: &[&str]) -> Vec<String> {
        let mut line = format!("exec sh -c {} berth", quoted(SCRIPT));
        for word in call {
            line += " ";
            line += &quoted(word);
        }
        let mut words = self.state.shell.clone();
        words.push(line);
        words
    }

    fn call(&self, call: &[&str]) -> Call {
        Call {
            host: self.state.host,
            op: self.op,
            words: self.words(call),
            stop: None,
            to: Where::Keep,
            takes_input: false,
            in_any_case: false,
            timeout_ns: 0,
        }
    }

    /// A shell that could not be started was not heard.
    fn ask(&self, call: &[&str]) -> Heard {
        self.call(call).talk().unwrap_or_default()
    }

    fn ask_in_any_case(&self, call: &[&str]) -> Heard {
        let call = Call { in_any_case: true, timeout_ns: 20_000_000_000, ..self.call(call) };
        call.talk().unwrap_or_default()
    }

    fn scope_texts(&self) -> [(&'static str, String); 2] {
        [("shell", self.state.shell.join(" ")), ("folder", self.state.folder.clone())]
    }

    fn probe(&self) -> Result<(), Failure> {
        let heard = self.ask(&["probe"]);
        let mut usable = heard.code == Some(0);
        let mut found = Vec::new();
        for line in heard.said.lines().take(8) {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            let detail = rest.strip_prefix("yes ");
            usable = usable && detail.is_some();
            found.push(result!(berth_probe_item {
                ok: detail.is_some() as u32,
                name: text(name),
                detail: text(detail.unwrap_or("not there")),
                remedy: text(if detail.is_some() { "" } else { "install or allow it on the other side" })
            }));
        }
        let result = result!(berth_probe_result {
            usable: usable as u32,
            backend: text("a shell"),
            items: found.as_ptr(),
            item_count: found.len() as u64
        });
        self.done(&result);
        Ok(())
    }

    fn scope(&self) -> Result<(), Failure> {
        let texts = self.scope_texts();
        let fields = texts.as_pairs();
        let result = result!(berth_scope_result { fields: list_of(&fields) });
        self.done(&result);
        Ok(())
    }

    fn create(&self, name: &str, spec: &berth_create_spec) -> Result<(), Failure> {
        if spec.image.len != 0 || asks_for_any(spec.limits) || spec.network != BERTH_NETWORK_NONE {
            return Err(rejected(BERTH_CODE_UNSUPPORTED, "no images, limits or networks here: ask for none"));
        }
        let environment: Vec<String> = pairs(&spec.env).iter().map(|pair| quoted(pair)).collect();
        let lifetime = spec.lifetime_ns / 1_000_000_000 + (spec.lifetime_ns % 1_000_000_000 != 0) as u64;
        let heard = self.ask(&["create", &self.state.folder, name, view(spec.owner_tag), &environment.join(" "),
                               &lifetime.to_string(), SCRIPT]);
        match heard.code {
            Some(0) => {}
            Some(4) => return Err(rejected(BERTH_CODE_CONFLICT, "the name was ended or fenced; take a new one")),
            _ => return Err(uncertain("the other side did not say that it is made")),
        }
        let texts = self.scope_texts();
        let fields = texts.as_pairs();
        let result = result!(berth_create_result { name: text(name), ref_: text(name), scope: list_of(&fields) });
        self.done(&result);
        Ok(())
    }

    fn find(&self, how: &str, name: &str, absent: berth_presence) -> Result<(), Failure> {
        let heard = self.ask(&[how, &self.state.folder, name]);
        let texts = self.scope_texts();
        let fields = texts.as_pairs();
        // Says that it is not known, as long as nothing else was heard.
        let mut result = result!(berth_lookup_result {});
        if heard.code == Some(4) {
            result.presence = absent;
        }
        if heard.code == Some(3) {
            result.presence = BERTH_PRESENCE_PRESENT;
            result.state = BERTH_STATE_READY;
            result.name = text(name);
            result.ref_ = text(name);
            result.scope = list_of(&fields);
        }
        self.done(&result);
        Ok(())
    }

    fn must_be_there(&self, name: &str) -> Result<(), Failure> {
        match self.ask(&["lookup", &self.state.folder, name]).code {
            Some(4) => Err(rejected(BERTH_CODE_NOT_FOUND, "there is no such sandbox")),
            _ => Ok(()),
        }
    }

    /// Runs a program in the sandbox; its output goes where `to` says. The cause comes from what was
    /// written down over there, never from the shell's exit code. [RUN-003]
    fn run_inside(&self, name: &str, what: &berth_command, to: Where) -> Result<(berth_run_result, Heard), Failure> {
        let number = with_state(|state| {
            state.runs += 1;
            state.runs
        });
        let id = format!("{}-{}", std::process::id(), number);
        let cwd = if what.cwd.len == 0 { "/work" } else { view(what.cwd) };
        let env = pairs(&what.env);
        let mut words = vec!["run", &self.state.folder, name, &id, cwd];
        words.extend(env.iter().map(String::as_str));
        words.push("--");
        words.extend(items(what.argv.items, what.argv.count).iter().map(|word| view(*word)));
        let call = Call {
            stop: Some(self.words(&["stop", &self.state.folder, name, &id])),
            to,
            takes_input: what.stdin_source == BERTH_STDIN_INPUT,
            timeout_ns: what.timeout_ns,
            ..self.call(&words)
        };
        let heard = call
            .talk()
            .ok_or_else(|| rejected(BERTH_CODE_UNAVAILABLE, "the shell cannot be started; correct `shell`"))?;
        let told = self.ask_in_any_case(&["ended", &self.state.folder, name, &id]).said;
        if let Some(why) = told.strip_prefix("no ") {
            return Err(rejected(BERTH_CODE_NOT_FOUND, why.trim()));
        }
        let mut end = result!(berth_run_result {
            cause: heard.cause,
            exit_code: -1,
            stdout_bytes: heard.stdout_bytes,
            stderr_bytes: heard.stderr_bytes
        });
        if end.cause == BERTH_CAUSE_UNKNOWN {
            match told.trim().parse::<i32>() {
                Err(_) => end.cause = BERTH_CAUSE_LOST,
                Ok(signal) if signal < 0 => {
                    end.cause = BERTH_CAUSE_SIGNALLED;
                    end.signal = signal.unsigned_abs();
                }
                Ok(code) => {
                    end.cause = BERTH_CAUSE_EXITED;
                    end.exit_code = code;
                }
            }
        }
        Ok((end, heard))
    }

    fn run(&self, name: &str, what: &berth_command) -> Result<(), Failure> {
        if asks_for_any(what.limits) {
            return Err(rejected(BERTH_CODE_UNSUPPORTED, "no limits here: ask for none"));
        }
        if what.stdin_source > BERTH_STDIN_INPUT {
            return Err(rejected(BERTH_CODE_UNSUPPORTED, "no such source of input here: give none, or bytes"));
        }
        self.must_be_there(name)?;
        let (end, _) = self.run_inside(name, what, Where::Streams)?;
        self.done(&end);
        Ok(())
    }

    /// A command inside the sandbox for the provider's own ends.
    fn own(&self, name: &str, argv: &[&str], takes_input: bool, to: Where) -> Result<(berth_run_result, Heard), Failure> {
        let words: Vec<berth_str> = argv.iter().map(|word| text(word)).collect();
        let what = result!(berth_command {
            stdin_source: if takes_input { BERTH_STDIN_INPUT } else { BERTH_STDIN_EMPTY },
            argv: berth_str_list { items: words.as_ptr(), count: words.len() as u64 }
        });
        self.run_inside(name, &what, to)
    }

    fn put_file(&self, name: &str, spec: &berth_put_file_spec) -> Result<(), Failure> {
        const WRITE: &str = r#"set -e; umask 077; mkdir -p -- "$(dirname -- "$1")"; t="$1.berth-$$"
trap 'rm -f -- "$t"' EXIT; cat > "$t"; test "$(wc -c < "$t")" -eq "$3"; chmod "$2" "$t"; mv -f -- "$t" "$1""#;
        self.must_be_there(name)?;
        let mode = format!("{:o}", if spec.mode == 0 { 0o644 } else { spec.mode });
        let size = spec.size_bytes.to_string();
        let argv = ["/bin/sh", "-c", WRITE, "put_file", view(spec.path), &mode, &size];
        let (end, _) = self.own(name, &argv, true, Where::Keep)?;
        if end.exit_code != 0 {
            return Err(uncertain("the other side did not say that the file is there"));
        }
        self.done(std::ptr::null::<c_void>());
        Ok(())
    }

    fn get_file(&self, name: &str, spec: &berth_get_file_spec) -> Result<(), Failure> {
        const LOOK: &str = r#"test -e "$1" || exit 3; test -f "$1" || exit 4; stat -L -c '%a %s' -- "$1""#;
        self.must_be_there(name)?;
        let path = view(spec.path);
        let (look, heard) = self.own(name, &["/bin/sh", "-c", LOOK, "get_file", path], false, Where::Keep)?;
        match look.exit_code {
            3 => return Err(rejected(BERTH_CODE_NOT_FOUND, "there is no such file in the sandbox")),
            4 => return Err(rejected(BERTH_CODE_INVALID_ARGUMENT, "it is not a regular file")),
            _ => {}
        }
        let parsed = heard.said.trim().split_once(' ').and_then(|(mode, size)| {
            Some((u32::from_str_radix(mode, 8).ok()?, size.parse::<u64>().ok()?))
        });
        let (mode, size_bytes) = parsed.ok_or_else(|| uncertain("the file could not be looked at"))?;
        if size_bytes > spec.max_bytes {
            return Err(rejected(BERTH_CODE_QUOTA, "the file is larger than asked for"));
        }
        let (end, heard) = self.own(name, &["cat", "--", path], false, Where::AsFile)?;
        if end.exit_code != 0 || heard.stdout_bytes != size_bytes {
            return Err(uncertain("the file changed or went away while it was read"));
        }
        let result = result!(berth_get_file_result { mode: mode, size_bytes: size_bytes });
        self.done(&result);
        Ok(())
    }

    fn destroy(&self, name: &str) -> Result<(), Failure> {
        if self.ask(&["destroy", &self.state.folder, name]).code != Some(0) {
            return Err(uncertain("the other side did not say that it is gone"));
        }
        self.done(std::ptr::null::<c_void>());
        Ok(())
    }

    fn list_owned(&self, tag: &str, cursor: &str) -> Result<(), Failure> {
        let heard = self.ask(&["list", &self.state.folder, tag, cursor]);
        if heard.code != Some(0) {
            return Err(uncertain("the folder was not listed"));
        }
        let names: Vec<&str> = heard.said.lines().filter(|name| !name.is_empty()).collect();
        let more = heard.said.lines().any(str::is_empty);
        let listed: Vec<berth_listed> = names
            .iter()
            .map(|name| result!(berth_listed { state: BERTH_STATE_READY, name: text(name), ref_: text(name) }))
            .collect();
        let result = result!(berth_list_result {
            complete: !more as u32,
            items: listed.as_ptr(),
            item_count: listed.len() as u64,
            next_cursor: text(if more { names.last().unwrap_or(&"") } else { "" })
        });
        self.done(&result);
        Ok(())
    }
}

/// The ABI's view of two texts, which must outlive it.
trait AsPairs {
    fn as_pairs(&self) -> [berth_pair; 2];
}

impl AsPairs for [(&'static str, String); 2] {
    fn as_pairs(&self) -> [berth_pair; 2] {
        [
            berth_pair { key: text(self[0].0), value: text(&self[0].1) },
            berth_pair { key: text(self[1].0), value: text(&self[1].1) },
        ]
    }
}

fn list_of(pairs: &[berth_pair]) -> berth_pair_list {
    berth_pair_list { items: pairs.as_ptr(), count: pairs.len() as u64 }
}

// ---- operations

type Work = Box<dyn FnOnce(&Operation) -> Result<(), Failure>>;
struct Task {
    operation: Operation,
    work: Work,
}

/// Nothing unwinds into the host: a panic asserts nothing about what exists. [ERR-001]
unsafe extern "C" fn on_lent_thread(user: *mut c_void) {
    let task = Box::from_raw(user as *mut Task);
    let Task { operation, work } = *task;
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&operation))) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => operation.failed(&failure),
        Err(_) => {
            operation.failed(&Failure { class: BERTH_UNSET, code: BERTH_CODE_INTERNAL, message: "a panic".into() })
        }
    }
    leave();
}

fn leave() {
    let last = with_state(|state| {
        state.operations -= 1;
        let last = state.operations == 0 && state.shutdown != 0;
        let operation = Operation { op: state.shutdown, state: state.clone() };
        if last {
            state.shutdown = 0;
        }
        last.then_some(operation)
    });
    if let Some(operation) = last {
        operation.done(std::ptr::null::<c_void>());
    }
}

fn start(op: berth_op, work: impl FnOnce(&Operation) -> Result<(), Failure> + 'static) {
    let state = with_state(|state| {
        if state.is_open {
            state.operations += 1;
        }
        state.clone()
    });
    let (is_open, host) = (state.is_open, state.host);
    let operation = Operation { op, state };
    if !is_open {
        return operation.failed(&rejected(BERTH_CODE_UNAVAILABLE, "the provider is not open [OPEN-001]"));
    }
    let task = Box::into_raw(Box::new(Task { operation, work: Box::new(work) })) as *mut c_void;
    if !host.post(Some(on_lent_thread), task) {
        let task = unsafe { Box::from_raw(task as *mut Task) };
        task.operation.failed(&rejected(BERTH_CODE_UNAVAILABLE, "there is no thread for it now"));
        leave();
    }
}

// ---- slots

type Me = *mut c_void;

unsafe extern "C" fn open(_: Me, op: berth_op, spec: *const berth_open_spec) {
    let host = with_state(|state| state.host);
    let (shell, folder) = (host.config("shell"), host.config("folder"));
    let state = with_state(|state| {
        state.is_open = true;
        state.shell = if shell.is_empty() { vec!["sh".into(), "-c".into()] } else { shell };
        let here = format!("{}/sandboxes", view((*spec).state_dir));
        state.folder = folder.into_iter().next().unwrap_or(here);
        state.clone()
    });
    Operation { op, state }.done(std::ptr::null::<c_void>());
}

unsafe extern "C" fn get_extension(_: Me, _: berth_str) -> *const c_void {
    std::ptr::null()
}

unsafe extern "C" fn probe(_: Me, op: berth_op) {
    start(op, |operation| operation.probe());
}

unsafe extern "C" fn scope(_: Me, op: berth_op) {
    start(op, |operation| operation.scope());
}

unsafe extern "C" fn create(_: Me, op: berth_op, name: berth_str, spec: *const berth_create_spec) {
    start(op, move |operation| operation.create(view(name), &*spec));
}

unsafe extern "C" fn lookup(_: Me, op: berth_op, name: berth_str) {
    start(op, move |operation| operation.find("lookup", view(name), BERTH_PRESENCE_ABSENT_NOW));
}

unsafe extern "C" fn fence(_: Me, op: berth_op, name: berth_str) {
    start(op, move |operation| operation.find("fence", view(name), BERTH_PRESENCE_ABSENT_FENCED));
}

unsafe extern "C" fn run(_: Me, op: berth_op, reference: berth_str, command: *const berth_command) {
    start(op, move |operation| operation.run(view(reference), &*command));
}

unsafe extern "C" fn put_file(_: Me, op: berth_op, reference: berth_str, spec: *const berth_put_file_spec) {
    start(op, move |operation| operation.put_file(view(reference), &*spec));
}

unsafe extern "C" fn get_file(_: Me, op: berth_op, reference: berth_str, spec: *const berth_get_file_spec) {
    start(op, move |operation| operation.get_file(view(reference), &*spec));
}

unsafe extern "C" fn destroy(_: Me, op: berth_op, name: berth_str, _: berth_str) {
    start(op, move |operation| operation.destroy(view(name)));
}

unsafe extern "C" fn list_owned(_: Me, op: berth_op, tag: berth_str, cursor: berth_str) {
    start(op, move |operation| operation.list_owned(view(tag), view(cursor)));
}

unsafe extern "C" fn shutdown(_: Me, op: berth_op) {
    let now = with_state(|state| {
        state.is_open = false;
        let now = state.operations == 0;
        if !now {
            state.shutdown = op;
        }
        now.then(|| state.clone())
    });
    if let Some(state) = now {
        Operation { op, state }.done(std::ptr::null::<c_void>());
    }
}

static TABLE: berth_provider_v1 = berth_provider_v1 {
    struct_size: size_of::<berth_provider_v1>() as u32,
    reserved: 0,
    open: Some(open),
    get_extension: Some(get_extension),
    probe: Some(probe),
    scope: Some(scope),
    create: Some(create),
    lookup: Some(lookup),
    fence: Some(fence),
    run: Some(run),
    put_file: Some(put_file),
    get_file: Some(get_file),
    destroy: Some(destroy),
    list_owned: Some(list_owned),
    shutdown: Some(shutdown),
};

/// Called by the entry in entry.c.
///
/// # Safety
/// As the contract says of the entry.
#[no_mangle]
pub unsafe extern "C" fn enter_in_rust(offer: *const berth_offer, reply: *mut berth_reply) -> u32 {
    let refusal = if u32::from((*offer).minor_min) > BERTH_ABI_MINOR {
        "the host no longer speaks the minor this was built with [NEG-002]"
    } else if ((*(*offer).host).struct_size as usize) < size_of::<berth_host_v1>() {
        "the host's table is smaller than that of ABI 1.0 [NEG-007]"
    } else {
        ""
    };
    if !refusal.is_empty() {
        (*reply).refusal = text(refusal);
        return 1;
    }
    *STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(State {
        host: Host((*offer).host),
        is_open: false,
        operations: 0,
        shutdown: 0,
        runs: 0,
        shell: Vec::new(),
        folder: String::new(),
    });
    (*reply).minor_chosen = BERTH_ABI_MINOR as u16;
    (*reply).self_ = std::ptr::null_mut();
    (*reply).provider = &TABLE;
    0
}
