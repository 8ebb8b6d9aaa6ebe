// The JavaScript half of a template: the program a template of Node.js starts with. It loads what programs
// use, tries two forks, and stops. Every interpreter forked from it returns from `serve` with the command
// of its own sandbox, lets this program end, and runs that command's as the first thing after it, the way
// Node runs the program it was started with.
"use strict";

const vm = require("node:vm");
const fs = require("node:fs");
const net = require("node:net");
const v8 = require("node:v8");
const path = require("node:path");
const crypto = require("node:crypto");
const { Module } = require("node:module");
const { Console } = require("node:console");
const { Writable } = require("node:stream");

const FOLDER = __dirname;
const FIRST = "/tmp/berth-first";
// Those this has been tried with. What another one keeps to itself nobody knows.
const KNOWN_MAJORS = [20, 22, 24, 26];
const MODULES = ["assert", "async_hooks", "buffer", "child_process", "events", "fs/promises", "http", "https",
  "os", "perf_hooks", "querystring", "readline", "stream/promises", "string_decoder", "timers/promises", "tty",
  "url", "util", "worker_threads", "zlib"];
// A variable that Node read while it started has to be what it was then. These start such names; those in
// FREE are taken from every program.
const READ_EARLY = ["NODE_", "LD_", "LC_", "LANG", "TZ", "HOME", "PATH", "OPENSSL_", "SSL_", "UV_", "ICU_",
  "GLIBC_", "MALLOC_"];
const FREE = ["LD_PRELOAD"];
const FLAG = "--experimental-vm-modules";
const CONTROL = 3;
const TRIAL_MILLISECONDS = 10_000;
const TRIAL_CODE = 7;

const addon = { exports: {} };
process.dlopen(addon, `${FOLDER}/fork.node`);
const native = addon.exports;

// The frame Node has below a program.
const main = /\((node:internal\/main\/[^:]+|node:internal[^:]+):(\d+):(\d+)\)$|at (node:[^:]+):(\d+):(\d+)$/
  .exec(new Error().stack.split("\n").pop());

function loadAndUse() {
  for (const name of MODULES) require(`node:${name}`);
  const nowhere = new Writable({ write(chunk, encoding, done) { done(); } });
  const shown = new Console(nowhere);
  shown.log("%s %d", "text", 1, { list: [1, "a", null], map: new Map([[1, new Set([2])]]) }, new Error("e"));
  new vm.Script("1 + 1", { filename: "first" }).runInThisContext();
  vm.compileFunction("return a", ["a"], { filename: "first" })(1);
  fs.readFileSync(`${FOLDER}/fork.node`);
  crypto.randomBytes(8);
}

// Garbage is collected before the first fork, since a fork would copy it when it collects.
function collect() {
  v8.setFlagsFromString("--expose-gc");
  const gc = vm.runInNewContext("gc");
  v8.setFlagsFromString("--no-expose-gc");
  gc();
  gc();
}

// Math.random is seeded when a process starts: all forks would draw the same numbers. This one is the
// generator xoshiro128** (Blackman and Vigna, https://prng.di.unimi.it/), from a seed of each fork's own.
function newRandom() {
  let [a, b, c, d] = new Uint32Array(new Uint8Array(crypto.randomBytes(16)).buffer);
  const next = () => {
    const product = Math.imul(b, 5);
    const drawn = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return drawn;
  };
  const { random } = { random() { return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992; } };
  Object.defineProperty(Math, "random", { value: random, writable: true, enumerable: false, configurable: true });
}

// ---- whether this Node can be forked

// What a fork has to be able to do, said on `fd` by one.
async function tryAll(fd) {
  newRandom();
  const { Worker } = require("node:worker_threads");
  const { setTimeout: pause } = require("node:timers/promises");
  await pause(1);
  await fs.promises.readFile("/proc/self/stat");
  const answer = await new Promise((done, failed) => {
    const worker = new Worker("require('node:worker_threads').parentPort.postMessage(6 * 7)", { eval: true });
    worker.once("message", done);
    worker.once("error", failed);
  });
  const random = [Math.random(), crypto.randomUUID(), crypto.randomBytes(16).toString("hex")];
  fs.writeSync(fd, JSON.stringify({ answer, random }));
  process.exit(TRIAL_CODE);
}

// Two forks that do not know of each other. False in such a fork, which is then on its own.
function tryForks() {
  const drawn = [];
  for (let i = 0; i < 2; i++) {
    const [read, write] = native.pipe();
    const child = native.tryFork(write);
    if (child === 0) {
      tryAll(write);
      return false;
    }
    fs.closeSync(write);
    const status = native.ended(child, TRIAL_MILLISECONDS);
    const said = fs.readFileSync(read, "utf8");
    fs.closeSync(read);
    if (status !== TRIAL_CODE << 8) throw new Error(`a trial fork ended with wait status ${status}`);
    const { answer, random } = JSON.parse(said);
    if (answer !== 42) throw new Error("a worker of a trial fork does not answer");
    drawn.push(random);
  }
  if (drawn[0].some((one, i) => one === drawn[1][i])) throw new Error("two forks draw the same at random");
  return true;
}

// ---- becoming a program

function early(environment) {
  const kept = environment.filter((variable) => READ_EARLY.some((start) => variable.startsWith(start)) &&
    !FREE.includes(variable.slice(0, variable.indexOf("="))));
  return kept.sort().join("\0");
}

// The place of the program among the arguments, or -1 when this interpreter is not what a fresh one would be.
function programPlace(command, own) {
  if (command.arguments[0] !== process.argv0 || early(command.environment) !== own) return -1;
  const place = command.arguments[1] === FLAG ? 2 : 1;
  const program = command.arguments[place];
  return program !== undefined && program !== "" && !program.startsWith("-") ? place : -1;
}

function become(command, place, pid) {
  process.chdir(command.folder);  // forgets the folder it knew
  const program = path.resolve(command.arguments[place]);
  process.argv.splice(1, Infinity, program, ...command.arguments.slice(place + 1));
  process.execArgv.splice(0, Infinity, ...command.arguments.slice(1, place));
  const fixed = { writable: false, enumerable: true, configurable: true };
  Object.defineProperty(process, "pid", { value: pid, ...fixed });
  if (place === 1) {
    for (const name of ["Module", "SourceTextModule", "SyntheticModule"]) delete vm[name];
  }
  newRandom();
  newOrigin();
  endAtOnce();
  for (const name of Object.keys(require.cache)) delete require.cache[name];
  delete process.mainModule;
  return program;
}

// The clock of a fork goes on where the template's stood, its beginning on the calendar does not.
function newOrigin() {
  const kept = Object.getOwnPropertyDescriptor(Performance.prototype, "timeOrigin");
  if (kept?.get === undefined || !kept.configurable) return;
  const origin = Date.now() - performance.now();
  Object.defineProperty(Performance.prototype, "timeOrigin", {
    ...kept,
    get: { get timeOrigin() { return origin; } }.__lookupGetter__("timeOrigin"),
  });
}

// Node takes its heap apart at the end of a program, which in a fork copies what it shares. When all that a
// program may still do has been done, the addon ends the process instead, and has to know with which code.
// The end is seen by Node's own look at `process.emit`; what listeners leave for later is done by then.
function endAtOnce() {
  const kind = Object.getPrototypeOf(process);
  const above = Object.getPrototypeOf(kind);
  const own = { writable: true, enumerable: true, configurable: true };
  async function tell() {
    for (let turn = 0; turn < 3; turn++) await undefined;
    native.endWith(Number(process.exitCode ?? 0) | 0);
  }
  Object.defineProperty(kind, "emit", {
    configurable: true,
    enumerable: false,
    get() {
      if (this === process && process._exiting) tell();
      return Reflect.get(above, "emit", this);
    },
    set(value) { Object.defineProperty(this, "emit", { value, ...own }); },
  });
}

// Runs a program as Node does, from a place like Node's own so that stack traces end as ever.
function runner(program) {
  const run = "Module.runMain(program)";
  const options = { filename: main[1] ?? main[4] };
  const [line, column] = [main[2] ?? main[5], main[3] ?? main[6]].map(Number);
  options.lineOffset = line - 1;
  options.columnOffset = column - 1 - run.indexOf("runMain");
  return vm.compileFunction(run, ["Module", "program"], options).bind(undefined, Module, program);
}

// A copy of the template runs a program that does nothing and tells what it touched. True in that copy.
function learn() {
  fs.mkdirSync(FIRST, { recursive: true });
  fs.writeFileSync(`${FIRST}/main.cjs`, "console.log(1);\n");
  collect();
  const copy = native.learn() === 1;
  if (!copy) fs.rmSync(FIRST, { recursive: true });
  return copy;
}

function start() {
  const known = KNOWN_MAJORS.includes(Number(process.versions.node.split(".")[0]));
  if (!known) throw new Error(`Node.js ${process.versions.node} is not among those that are known to fork`);
  if (main === null) throw new Error("it runs its program from an unknown place");
  const own = early(Object.entries(process.env).map(([name, value]) => `${name}=${value}`));
  loadAndUse();
  // Whose end Node tells by itself, with nothing of this file below.
  const [end, otherEnd] = native.pipe();
  fs.closeSync(otherEnd);
  const { _handle: handle } = new net.Socket({ fd: end, readable: true, writable: false });
  if (typeof handle?.close !== "function") throw new Error("it has no handles to close");
  if (!tryForks()) return;
  if (learn()) {
    handle.close(runner(become({ folder: FIRST, arguments: [process.argv0, "main.cjs"] }, 1, process.pid)));
    return;
  }
  collect();
  native.serve(CONTROL);
  const command = native.take();
  const place = programPlace(command, own);
  if (place === -1) native.execute();
  const program = become(command, place, native.become());
  handle.close(runner(program));
}

try {
  start();
} catch (fault) {
  // An interpreter whose state is half of a program's must not go on as one.
  fs.writeSync(2, `${fault.message}\n`);
  process.reallyExit(1);
}
