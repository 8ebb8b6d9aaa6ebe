// Sandboxes whose Node.js was forked from a template: it is Node as any other, its walls are those of any
// other, and nothing of one is in another.
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "core/execution/harness.h"
#include "node_programs.h"

namespace berth::local {
namespace {


TEST(NodeTemplate, AProgramSeesTheCommandItIs) {
  Command command;
  command.env = {{"COLOUR", "gr\xc3\xbcn"}};
  command.cwd = "/tmp";
  expect_same({R"js(
    const fs = require("fs");
    console.log(process.argv, process.execArgv, process.argv0, process.title, process.execPath);
    console.log(Object.entries(process.env), process.env.COLOUR, process.cwd(), process.umask());
    console.log(fs.readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, 4));
    console.log(fs.readFileSync("/proc/self/comm", "utf8"));
    console.log(process.pid === Number(fs.readlinkSync("/proc/self")), process.ppid);
    console.log(Object.keys(process).sort().join(), Object.keys(globalThis).join());
    for (const name of ["pid", "argv", "execArgv", "argv0", "title", "exitCode", "mainModule"]) {
      const { value, ...rest } = Object.getOwnPropertyDescriptor(process, name) ?? {};
      console.log(name, rest);
    }
    console.log(process.mainModule === module, require.main === module, module.id, module.parent, __filename);
    console.log(Object.keys(require.cache), module.children, process._preload_modules);
    console.log(process.eventNames(), process.listenerCount("exit"), process.config.variables.napi_build_version);
    console.log(typeof require("vm").SourceTextModule, new Error("here").stack);
    console.log(process.uptime() < 30, performance.now() < 30_000,
      Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 60_000);
    console.log(Math.random.length, Math.random.name, Object.getOwnPropertyDescriptor(Math, "random").enumerable);
  )js", "main.js", {}, {"a", "b c", "--d"}}, command);
  expect_same({"console.log(process.execArgv, typeof require('vm').SourceTextModule, process.argv)", "main.js",
               {"--experimental-vm-modules"}, {"--experimental-vm-modules"}});
}

TEST(NodeTemplate, AProgramEndsAsItWould) {
  for (const char* source : {
           "process.exit(7)",
           "process.exitCode = 5",
           "process.exitCode = 5; process.exit()",
           "throw new Error('said at the end')",
           "throw 'a string'",
           "throw undefined",
           "null.x",
           "function f(n) { if (n === 0) throw new TypeError('deep'); f(n - 1); }\nf(3)",
           "console.log('before'",
           "Promise.reject(new Error('nobody caught it'))",
           "(async () => { await 1; throw new RangeError('later'); })()",
           "setTimeout(() => { throw new Error('from a timer'); }, 1)",
           "setImmediate(() => null.x)",
           "process.nextTick(() => { throw new Error('from a tick'); })",
           "process.on('exit', (code) => { console.log('exit', code); process.exitCode = 9; })",
           "process.on('exit', () => { throw new Error('at the end'); })",
           "process.once('beforeExit', (code) => { console.log('once more', code); setTimeout(() => {}, 1); })",
           "process.on('uncaughtException', (e) => { console.log('caught', e.message); }); throw new Error('x')",
           "process.on('exit', (code) => console.log(code)); throw new Error('and told')",
           "process.emitWarning('careful'); new Buffer(1)",
           "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)",
           "process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000)",
           "process.on('SIGTERM', () => { console.log('told'); process.exit(3); });"
           " setTimeout(() => process.kill(process.pid, 'SIGTERM'), 1); setInterval(() => {}, 1000)",
           "process.reallyExit(6)",
           "process.exitCode = 300",
           "process.emit('exit', 5); console.log('still here')",
           "process.on('exit', () => { (async () => { await 1; console.log('later'); process.exitCode = 3; })(); })",
           "process.on('exit', () => { process.nextTick(() => console.log('never')); setTimeout(() => {}, 1e6); })",
           "const { emit } = process; process.emit = function (...all) { console.log('heard', all);"
           " return Reflect.apply(emit, this, all); }",
           "console.log(Object.hasOwn(process, 'emit'), process.listenerCount('exit'), process.emit.name)",
           "const { Worker } = require('worker_threads');"
           " const w = new Worker('setInterval(() => {}, 1000)', { eval: true });"
           " w.on('online', () => { w.unref(); console.log('left running'); process.exitCode = 8; })",
           "require('fs').writeSync(1, 'x'.repeat(100)); process.exit(2)",
           "const a = new Array(2e5).fill('line').join('\\n'); process.stdout.write(a); process.exitCode = 4",
           "require('./missing')",
           "process.stdout.end('closed')",
           "const { Worker } = require('worker_threads');"
           " new Worker('throw new Error(1)', { eval: true }).on('error', (e) => { console.log(e.message); })",
       }) {
    expect_same({source});
  }
  const std::vector<std::pair<const char*, const char*>> modules = {
      {"main.mjs", "import fs from 'node:fs'; console.log(typeof fs.readFileSync, import.meta.url, this)"},
      {"main.mjs", "console.log(await Promise.resolve(42), typeof require)"},
      {"main.mjs", "await new Promise(() => {})"},
      {"main.mjs", "await 1; throw new Error('in a module')"},
      {"main.mjs", "import './missing.mjs'"},
      {"main.mjs", "export default 1; process.exitCode = 3"},
      {"main.mjs", "const { basename } = await import('node:path'); console.log(basename('/a/b'))"},
      {"main.mjs", "let x = ;"},
      {"main.cjs", "return 5"},
      {"main.js", "setTimeout(() => console.log('timer'), 2); process.nextTick(() => console.log('tick'));"
                  " Promise.resolve().then(() => console.log('promise')); console.log('main')"},
      {"main.mjs", "process.nextTick(() => console.log('tick'));"
                   " Promise.resolve().then(() => console.log('promise')); console.log('main')"},
  };
  for (const auto& [name, source] : modules) expect_same({source, name});
}

TEST(NodeTemplate, AMissingProgramIsToldAsEver) {
  const auto said = [](Machine& where) {
    const Ran ran = run(*where.sandbox(for_javascript()), {"node", "/workspace/missing.js"});
    return ran.err + std::to_string(ran.result.exit_code);
  };
  EXPECT_EQ(said(forking_machine()), said(cold_machine()));
}

TEST(NodeTemplate, ItsInputIsTheCommands) {
  const auto sandbox = forking_machine().sandbox(for_javascript());
  put(*sandbox, "/workspace/main.js",
      "process.stdin.on('data', (d) => process.stdout.write(String(d).toUpperCase())).on('end', () => console.log('!'))");
  TestPeer peer;
  peer.to_read = "one\ntwo";
  Command command;
  command.argv = {"node", "/workspace/main.js"};
  command.stdin_source = StdinSource::kInput;
  EXPECT_EQ(sandbox->run(peer, command).exit_code, 0);
  EXPECT_EQ(peer.out, "ONE\nTWO!\n");
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  expect_same({"console.log(require('fs').readFileSync(0, 'utf8').length)"});
}

// What a program can see of its walls. Numbers that differ from sandbox to sandbox are left out.
constexpr char kWalls[] = R"js(
const fs = require("fs");
const lines = (file) => fs.readFileSync(file, "utf8").trimEnd().split("\n");
for (const line of lines("/proc/self/status")) {
  if (/^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap\w+):/.test(line)) console.log(line);
}
for (const line of lines("/proc/self/mountinfo")) {
  const fields = line.split(" ");
  const options = line.split(" - ")[1].replace(/(uid|gid)=[0-9]+/g, "$1");
  console.log("mount", fields[4] === "/" ? "" : fields[3], fields[4], fields[5], options);
}
console.log(lines("/proc/self/limits").join("\n"));
console.log("cgroup", lines("/proc/self/cgroup").map((line) => line.split(":").pop()).join());
console.log("maps", lines("/proc/self/uid_map")[0].trim().split(/ +/)[0], lines("/proc/self/setgroups")[0]);
console.log("oom", lines("/proc/self/oom_score_adj")[0], "sys", fs.existsSync("/sys"), "nice",
  require("os").getPriority());
console.log("net", lines("/proc/net/dev").length, "uptime", Number(lines("/proc/uptime")[0].split(" ")[0]) < 200);
console.log("processes", fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name != process.pid).join());
for (const attempt of [
  () => fs.writeFileSync("/usr/x", ""), () => fs.readdirSync("/proc/1/fd"), () => fs.readFileSync("/proc/1/environ"),
  () => process.setuid(0), () => fs.chownSync("/workspace", 1, 1), () => process.kill(1, "SIGKILL"),
  () => fs.readFileSync("/proc/1/mem"), () => process.setgroups([0]),
]) {
  try { attempt(); console.log("done", attempt.toString()); } catch (error) { console.log(error.message); }
}
const { status, stdout } = require("child_process").spawnSync("python3", ["-c", `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for number in (165, 272, 308, 161, 155, 170, 101, 298, 321, 425, 250):
    print('call', number, libc.syscall(number, 0, 0, 0, 0), ctypes.get_errno())
print('dumpable', libc.prctl(3), 'securebits', libc.prctl(27), os.listdir('/proc/self/fd'))
`]);
console.log(status, String(stdout));
)js";

TEST(NodeTemplate, TheWallsAreThoseOfAColdSandbox) {
  const Ran expected = cold({kWalls});
  EXPECT_EQ(expected.err, "");
  EXPECT_NE(expected.out.find("NoNewPrivs:\t1"), std::string::npos);
  EXPECT_NE(expected.out.find("Seccomp:\t2"), std::string::npos);
  EXPECT_EQ(forked({kWalls}).out, expected.out);

  Machine ready(node_config(StartupChoice::kWarm));
  const auto sandbox = ready.sandbox(for_javascript());
  EXPECT_EQ(sandbox->startup(), Startup::kWarm);
  EXPECT_EQ(run_file(*sandbox, {kWalls}).out, expected.out);
  EXPECT_EQ(StateStore(ready.state_dir()).read(sandbox->name())->startup, "warm");
}

TEST(NodeTemplate, EachHasNamespacesControlGroupsAndAnIdentityOfItsOwn) {
  const std::string source =
      "const fs = require('fs'); for (const name of fs.readdirSync('/proc/self/ns').sort())"
      " console.log(fs.readlinkSync('/proc/self/ns/' + name)); console.log(require('os').hostname())";
  std::set<std::string> seen;
  std::size_t lines_in_all = 0;
  for (int i = 0; i < 3; ++i) {
    std::istringstream lines(forked({source}).out);
    for (std::string line; std::getline(lines, line); seen.insert(line)) ++lines_in_all;
  }
  // Two of them are listed twice: what children get is what the program has.
  EXPECT_EQ(lines_in_all, 3u * 11u);
  EXPECT_EQ(seen.size(), 3u * 9u);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/ns")) {
    EXPECT_FALSE(seen.contains(std::filesystem::read_symlink(entry.path()))) << entry.path();
  }
  const auto one = forking_machine().sandbox(for_javascript());
  const auto two = forking_machine().sandbox(for_javascript());
  const StateStore store(forking_machine().state_dir());
  EXPECT_NE(store.read(one->name())->cgroup_folders, store.read(two->name())->cgroup_folders);
  if (geteuid() == 0) {
    EXPECT_NE(store.read(one->name())->outer_id, store.read(two->name())->outer_id);
  }
  EXPECT_EQ(store.read(one->name())->startup, "template");
}

// What tells one open file from another: the number of a pipe, of an event counter. Those of counters are
// given again once their process has ended, so all programs live for a while together.
TEST(NodeTemplate, NoOpenFileIsSharedWithAnotherSandbox) {
  const std::string source = R"js(
    const fs = require("fs");
    for (const fd of fs.readdirSync("/proc/self/fd").map(Number).filter((n) => n > 2)) {
      let file;
      try { file = fs.readlinkSync(`/proc/self/fd/${fd}`); } catch { continue; }
      const id = /eventfd-id:\s*(\d+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
      if (id !== undefined) console.log("event", id);
      else if (file !== "anon_inode:[eventpoll]") console.log(file);
    }
    setTimeout(() => {}, 5000);
  )js";
  std::set<std::string> before;
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  for (int i = 0; i < 3; ++i) sandboxes.push_back(forking_machine().sandbox(for_javascript()));
  std::vector<std::future<Ran>> programs;
  for (const auto& sandbox : sandboxes)
    programs.push_back(std::async(std::launch::async, [&] { return run_file(*sandbox, {source}); }));
  for (std::future<Ran>& program : programs) {
    std::set<std::string> now;
    std::istringstream lines(program.get().out);
    for (std::string line; std::getline(lines, line); now.insert(line)) {
      EXPECT_FALSE(before.contains(line)) << line;
      EXPECT_TRUE(line.starts_with("event ") || line.starts_with("pipe:") || line == "/dev/null") << line;
    }
    EXPECT_GT(now.size(), 2u);
    now.erase("/dev/null");
    before.merge(now);
  }
  for (const auto& sandbox : sandboxes) EXPECT_EQ(sandbox->forked_runs(), 1u);
}

TEST(NodeTemplate, LimitsAreThoseOfTheCreateThatClaimsIt) {
  CreateSpec spec = for_javascript();
  spec.limits.memory_bytes = 2048 * kMebibyte;
  spec.limits.processes = 20;
  Command command;
  command.limits = Limits{};
  command.limits->open_files = 64;
  const auto sandbox = forking_machine().sandbox(spec);
  const Ran ran = run_file(*sandbox,
                           {"console.log(Buffer.alloc(1100 << 20, 1).length >> 20);"
                            "const limits = require('fs').readFileSync('/proc/self/limits', 'utf8');"
                            "console.log(limits.match(/^Max (processes|open files) .*$/gm).join().match(/\\d+/g).join())"},
                           command);
  EXPECT_EQ(ran.out, "1100\n20,20,64,64\n") << ran.err;
  EXPECT_EQ(sandbox->forked_runs(), 1u);

  CreateSpec small = for_javascript();
  small.limits.memory_bytes = 96 * kMebibyte;
  EXPECT_EQ(run_file(*forking_machine().sandbox(small), {"Buffer.alloc(512 << 20, 1)"}).result.cause, Cause::kOom);
  Command brief;
  brief.timeout = std::chrono::milliseconds(300);
  EXPECT_EQ(forked({"while (true);"}, brief).result.cause, Cause::kWall);
}

TEST(NodeTemplate, WhatItCannotBeRunsInTheOrdinaryWay) {
  const auto plain = forking_machine().sandbox(for_javascript());
  EXPECT_EQ(run(*plain, {"node", "-p", "2"}).out, "2\n");
  EXPECT_EQ(run_file(*plain, {"console.log(3)"}).out, "3\n") << "the interpreter that waited is gone by now";
  Command command;
  command.env = {{"NODE_OPTIONS", "--max-old-space-size=64"}, {"TZ", "Asia/Tokyo"}};
  const Program zone{"console.log(new Date(0).getHours(), require('v8').getHeapStatistics().heap_size_limit >> 20)"};
  EXPECT_EQ(run_file(*forking_machine().sandbox(for_javascript()), zone, command).out, cold(zone, command).out);
  EXPECT_EQ(run_file(*forking_machine().sandbox(for_javascript()), {"console.log(typeof gc)", "main.js", {"--expose-gc"}}).out,
            "function\n");
  EXPECT_EQ(shell(*forking_machine().sandbox(for_javascript()), "echo fine").out, "fine\n");
  const auto missing = forking_machine().sandbox(for_javascript());
  Command nowhere;
  nowhere.cwd = "/nowhere";
  const auto refusal = failure_of([&] { run_file(*missing, {"console.log(4)"}, nowhere); });
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message().find("/nowhere"), std::string::npos);
  EXPECT_EQ(run_file(*missing, {"console.log(5)"}).out, "5\n");
}

// The host's harness beside a program, and what it leaves.
std::string left_by(Sandbox& sandbox, const std::string& source) {
  put(sandbox, "/tmp/.run/berth_run.cjs", harness::berth_run_cjs());
  put(sandbox, "/workspace/main.js", source);
  const Ran ran = run(sandbox, {"node", "--experimental-vm-modules", "/tmp/.run/berth_run.cjs",
                                "/workspace/main.js", "/tmp/.run/result", "nonce", "argument"});
  TestPeer peer;
  sandbox.get_file(peer, GetFile{.path = "/tmp/.run/result", .max_bytes = 8 * kMebibyte});
  return ran.out + without_number(ran.err) + std::to_string(ran.result.exit_code) + peer.file;
}

TEST(NodeTemplate, TheHarnessFindsResultsAndErrors) {
  for (const char* program : {
           "const result = { a: [1, 2] }; console.log(process.argv.length, process.execArgv)",
           "import path from 'node:path'; const rows = await Promise.resolve([1]); export const result = path.sep;",
           "const { sep } = require('path'); return Promise.resolve(sep)",
           "function f() { null.x; }\nf()",
           "await 1; throw new Error('told')",
           "let x = ;",
           "await new Promise(() => {})",
           "process.exit(4)",
       }) {
    const std::string expected = left_by(*cold_machine().sandbox(for_javascript()), program);
    const auto sandbox = forking_machine().sandbox(for_javascript());
    EXPECT_EQ(left_by(*sandbox, program), expected) << program;
    EXPECT_EQ(sandbox->forked_runs(), 1u);
  }
}

}  // namespace
}  // namespace berth::local
