// The binary contract of berth/abi.h in Rust, made from it (tests/abi/layout.py rust). Its comments are there.
#![allow(non_camel_case_types, dead_code)]

use std::os::raw::c_void;

pub type berth_op = u64;
pub type berth_outcome_class = u32;
pub type berth_code = u32;
pub type berth_network = u32;
pub type berth_stdin = u32;
pub type berth_presence = u32;
pub type berth_sandbox_state = u32;
pub type berth_cause = u32;
pub type berth_log_level = u32;
pub type berth_stream = u32;
pub type berth_flow = u32;
pub type berth_input_status = u32;
pub type berth_wait_status = u32;
pub type berth_write_fn = Option<unsafe extern "C" fn(*mut c_void, *const u8, u64)>;
pub type berth_task_fn = Option<unsafe extern "C" fn(*mut c_void)>;
pub type berth_provider_entry_fn = Option<unsafe extern "C" fn(*const berth_offer, *mut berth_reply) -> u32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_abi_note {
    pub format: u16,
    pub abi_major: u16,
    pub abi_minor_built: u16,
    pub abi_minor_required: u16,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_str {
    pub ptr: *const u8,
    pub len: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_bytes {
    pub ptr: *const u8,
    pub len: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_str_list {
    pub items: *const berth_str,
    pub count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_pair {
    pub key: berth_str,
    pub value: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_pair_list {
    pub items: *const berth_pair,
    pub count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_outcome {
    pub struct_size: u32,
    pub outcome_class: berth_outcome_class,
    pub code: berth_code,
    pub reserved: u32,
    pub retry_after_ms: u64,
    pub message: berth_str,
    pub stage: berth_str,
    pub result: *const c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_usage {
    pub struct_size: u32,
    pub reserved: u32,
    pub epoch: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    pub memory_peak_bytes: u64,
    pub network_egress_bytes: u64,
    pub cost_micro_usd: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_open_spec {
    pub struct_size: u32,
    pub reserved: u32,
    pub config_json: berth_str,
    pub state_dir: berth_str,
    pub owner_tag: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_limits {
    pub struct_size: u32,
    pub cpu_millis: u32,
    pub memory_bytes: u64,
    pub cpu_time_ns: u64,
    pub disk_bytes: u64,
    pub file_size_bytes: u64,
    pub processes: u32,
    pub open_files: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_create_spec {
    pub struct_size: u32,
    pub network: berth_network,
    pub owner_tag: berth_str,
    pub lifetime_ns: u64,
    pub languages: berth_str_list,
    pub image: berth_str,
    pub limits: *const berth_limits,
    pub env: berth_pair_list,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_command {
    pub struct_size: u32,
    pub stdin_source: berth_stdin,
    pub argv: berth_str_list,
    pub cwd: berth_str,
    pub env: berth_pair_list,
    pub timeout_ns: u64,
    pub stdout_cap_bytes: u64,
    pub stderr_cap_bytes: u64,
    pub limits: *const berth_limits,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_put_file_spec {
    pub struct_size: u32,
    pub mode: u32,
    pub path: berth_str,
    pub size_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_get_file_spec {
    pub struct_size: u32,
    pub reserved: u32,
    pub path: berth_str,
    pub max_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_capability {
    pub struct_size: u32,
    pub available: u32,
    pub id: berth_str,
    pub reason: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_probe_item {
    pub struct_size: u32,
    pub ok: u32,
    pub name: berth_str,
    pub detail: berth_str,
    pub remedy: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_probe_result {
    pub struct_size: u32,
    pub usable: u32,
    pub backend: berth_str,
    pub capabilities: *const berth_capability,
    pub capability_count: u64,
    pub items: *const berth_probe_item,
    pub item_count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_scope_result {
    pub struct_size: u32,
    pub reserved: u32,
    pub fields: berth_pair_list,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_create_result {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: berth_str,
    pub ref_: berth_str,
    pub scope: berth_pair_list,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_lookup_result {
    pub struct_size: u32,
    pub presence: berth_presence,
    pub state: berth_sandbox_state,
    pub reserved: u32,
    pub name: berth_str,
    pub ref_: berth_str,
    pub scope: berth_pair_list,
    pub created_unix_ms: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_run_result {
    pub struct_size: u32,
    pub cause: berth_cause,
    pub exit_code: i32,
    pub signal: u32,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub usage: *const berth_usage,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_get_file_result {
    pub struct_size: u32,
    pub mode: u32,
    pub size_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_destroy_result {
    pub struct_size: u32,
    pub reserved: u32,
    pub usage: *const berth_usage,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_listed {
    pub struct_size: u32,
    pub state: berth_sandbox_state,
    pub name: berth_str,
    pub ref_: berth_str,
    pub created_unix_ms: u64,
    pub holder: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_list_result {
    pub struct_size: u32,
    pub complete: u32,
    pub items: *const berth_listed,
    pub item_count: u64,
    pub next_cursor: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_host_v1 {
    pub struct_size: u32,
    pub reserved: u32,
    pub ctx: *mut c_void,
    pub log: Option<unsafe extern "C" fn(*mut c_void, berth_log_level, berth_str)>,
    pub op_complete: Option<unsafe extern "C" fn(*mut c_void, berth_op, *const berth_outcome)>,
    pub op_stage: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str)>,
    pub op_cancelled: Option<unsafe extern "C" fn(*mut c_void, berth_op) -> u32>,
    pub op_cancel_fd: Option<unsafe extern "C" fn(*mut c_void, berth_op) -> i32>,
    pub op_deadline: Option<unsafe extern "C" fn(*mut c_void, berth_op) -> u64>,
    pub output: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_stream, berth_bytes) -> berth_flow>,
    pub input: Option<unsafe extern "C" fn(*mut c_void, berth_op, *mut u8, u64, *mut u64) -> berth_input_status>,
    pub op_ready_fd: Option<unsafe extern "C" fn(*mut c_void, berth_op) -> i32>,
    pub op_wait: Option<unsafe extern "C" fn(*mut c_void, berth_op, u64) -> berth_wait_status>,
    pub config_get: Option<unsafe extern "C" fn(*mut c_void, berth_str, berth_write_fn, *mut c_void) -> u32>,
    pub secret_get: Option<unsafe extern "C" fn(*mut c_void, berth_str, berth_write_fn, *mut c_void) -> u32>,
    pub now: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub post_blocking: Option<unsafe extern "C" fn(*mut c_void, berth_task_fn, *mut c_void) -> u32>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_provider_v1 {
    pub struct_size: u32,
    pub reserved: u32,
    pub open: Option<unsafe extern "C" fn(*mut c_void, berth_op, *const berth_open_spec)>,
    pub get_extension: Option<unsafe extern "C" fn(*mut c_void, berth_str) -> *const c_void>,
    pub probe: Option<unsafe extern "C" fn(*mut c_void, berth_op)>,
    pub scope: Option<unsafe extern "C" fn(*mut c_void, berth_op)>,
    pub create: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, *const berth_create_spec)>,
    pub lookup: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str)>,
    pub fence: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str)>,
    pub run: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, *const berth_command)>,
    pub put_file: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, *const berth_put_file_spec)>,
    pub get_file: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, *const berth_get_file_spec)>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, berth_str)>,
    pub list_owned: Option<unsafe extern "C" fn(*mut c_void, berth_op, berth_str, berth_str)>,
    pub shutdown: Option<unsafe extern "C" fn(*mut c_void, berth_op)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_offer {
    pub struct_size: u32,
    pub minor_min: u16,
    pub minor_max: u16,
    pub host: *const berth_host_v1,
    pub host_extensions: berth_str_list,
    pub host_version: berth_str,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_reply {
    pub struct_size: u32,
    pub minor_chosen: u16,
    pub reserved: u16,
    pub self_: *mut c_void,
    pub provider: *const berth_provider_v1,
    pub refusal: berth_str,
}

pub const BERTH_ABI_MAJOR: u32 = 1;
pub const BERTH_NOTE_ABI: u32 = 1;
pub const BERTH_NOTE_MANIFEST: u32 = 2;
pub const BERTH_MANIFEST_MAX_BYTES: u32 = 65536;
pub const BERTH_NOTE_FORMAT: u32 = 1;
pub const BERTH_NAME_MAX_BYTES: u32 = 64;
pub const BERTH_REF_MAX_BYTES: u32 = 1024;
pub const BERTH_MESSAGE_MAX_BYTES: u32 = 4096;
pub const BERTH_STAGE_MAX_BYTES: u32 = 64;
pub const BERTH_PATH_MAX_BYTES: u32 = 4096;
pub const BERTH_OUTPUT_CHUNK_MAX_BYTES: u32 = 65536;
pub const BERTH_ARGV_MAX_BYTES: u32 = 131072;
pub const BERTH_LIST_MAX_ITEMS: u32 = 65536;
pub const BERTH_UNSET: u32 = 0;
pub const BERTH_DONE: u32 = 1;
pub const BERTH_REJECTED: u32 = 2;
pub const BERTH_FAILED_CLEAN: u32 = 3;
pub const BERTH_FAILED_DIRTY: u32 = 4;
pub const BERTH_UNCERTAIN: u32 = 5;
pub const BERTH_CODE_NONE: u32 = 0;
pub const BERTH_CODE_INVALID_ARGUMENT: u32 = 1;
pub const BERTH_CODE_UNSUPPORTED: u32 = 2;
pub const BERTH_CODE_NOT_FOUND: u32 = 3;
pub const BERTH_CODE_CONFLICT: u32 = 4;
pub const BERTH_CODE_QUOTA: u32 = 5;
pub const BERTH_CODE_RATE_LIMITED: u32 = 6;
pub const BERTH_CODE_UNAUTHENTICATED: u32 = 7;
pub const BERTH_CODE_PERMISSION: u32 = 8;
pub const BERTH_CODE_UNAVAILABLE: u32 = 9;
pub const BERTH_CODE_TIMEOUT: u32 = 10;
pub const BERTH_CODE_CANCELLED: u32 = 11;
pub const BERTH_CODE_INTERNAL: u32 = 12;
pub const BERTH_USAGE_UNKNOWN: u64 = u64::MAX;
pub const BERTH_NETWORK_NONE: u32 = 0;
pub const BERTH_NETWORK_OPEN: u32 = 1;
pub const BERTH_STDIN_EMPTY: u32 = 0;
pub const BERTH_STDIN_INPUT: u32 = 1;
pub const BERTH_PRESENCE_UNKNOWN: u32 = 0;
pub const BERTH_PRESENCE_PRESENT: u32 = 1;
pub const BERTH_PRESENCE_IN_PROGRESS: u32 = 2;
pub const BERTH_PRESENCE_ABSENT_NOW: u32 = 3;
pub const BERTH_PRESENCE_ABSENT_FENCED: u32 = 4;
pub const BERTH_STATE_UNKNOWN: u32 = 0;
pub const BERTH_STATE_STARTING: u32 = 1;
pub const BERTH_STATE_READY: u32 = 2;
pub const BERTH_STATE_STOPPED: u32 = 3;
pub const BERTH_STATE_BROKEN: u32 = 4;
pub const BERTH_CAUSE_UNKNOWN: u32 = 0;
pub const BERTH_CAUSE_EXITED: u32 = 1;
pub const BERTH_CAUSE_SIGNALLED: u32 = 2;
pub const BERTH_CAUSE_OOM: u32 = 3;
pub const BERTH_CAUSE_WALL: u32 = 4;
pub const BERTH_CAUSE_CPU: u32 = 5;
pub const BERTH_CAUSE_OUTPUT: u32 = 6;
pub const BERTH_CAUSE_DISK: u32 = 7;
pub const BERTH_CAUSE_CANCELLED: u32 = 8;
pub const BERTH_CAUSE_LOST: u32 = 9;
pub const BERTH_LOG_DEBUG: u32 = 0;
pub const BERTH_LOG_INFO: u32 = 1;
pub const BERTH_LOG_WARN: u32 = 2;
pub const BERTH_LOG_ERROR: u32 = 3;
pub const BERTH_STREAM_STDOUT: u32 = 1;
pub const BERTH_STREAM_STDERR: u32 = 2;
pub const BERTH_STREAM_FILE: u32 = 3;
pub const BERTH_OUTPUT_ACCEPTED: u32 = 0;
pub const BERTH_OUTPUT_PAUSE: u32 = 1;
pub const BERTH_OUTPUT_LIMIT: u32 = 2;
pub const BERTH_OUTPUT_CANCELLED: u32 = 3;
pub const BERTH_INPUT_DATA: u32 = 0;
pub const BERTH_INPUT_END: u32 = 1;
pub const BERTH_INPUT_AGAIN: u32 = 2;
pub const BERTH_INPUT_CANCELLED: u32 = 3;
pub const BERTH_WAIT_READY: u32 = 0;
pub const BERTH_WAIT_CANCELLED: u32 = 1;
pub const BERTH_WAIT_TIMEOUT: u32 = 2;
pub const BERTH_ABI_MINOR: u32 = 0;
