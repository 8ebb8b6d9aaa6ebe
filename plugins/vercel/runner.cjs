// The same as runner.py, for images that have Node and no Python.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');

let text = '';
for (let part = 0; process.env['BERTH_SPEC_' + part] !== undefined; part += 1) {
  text += process.env['BERTH_SPEC_' + part];
  delete process.env['BERTH_SPEC_' + part];
}
const spec = JSON.parse(text);
const env = { ...process.env };
for (const [key, value] of spec.env) env[key] = value;
env.BERTH_COMMAND = spec.token;
const mark = '\0BERTH_COMMAND=' + spec.token + '\0';
let program = -1;

function tell(fd, line) {
  let bytes = Buffer.from(line + '\n');
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(fs.writeSync(fd, bytes));
    } catch (wrong) {
      if (wrong.code !== 'EAGAIN') throw wrong;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

function left() {
  const parents = new Map();
  const found = new Set();
  for (const name of fs.readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name) || Number(name) === process.pid) continue;
    const pid = Number(name);
    try {
      const stat = fs.readFileSync('/proc/' + name + '/stat', 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' || fields[0] === 'X') continue;
      parents.set(Number(fields[1]), [...(parents.get(Number(fields[1])) || []), pid]);
      if (Number(fields[2]) === program) found.add(pid);
      const own = fs.readFileSync('/proc/' + name + '/environ', 'latin1');
      if (('\0' + own).includes(mark)) found.add(pid);
    } catch {
      // It is gone, or somebody else's.
    }
  }
  const ahead = [process.pid, ...found];
  while (ahead.length > 0) {
    for (const pid of parents.get(ahead.pop()) || []) {
      if (found.has(pid)) continue;
      found.add(pid);
      ahead.push(pid);
    }
  }
  return found;
}

function endAll() {
  for (let round = 0; round < 400; round += 1) {
    const pids = left();
    if (pids.size === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It is gone.
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
}

const total = { 1: 0, 2: 0 };
const caps = { 1: spec.stdout_cap, 2: spec.stderr_cap };
let late = false;
let over = false;

function output(kind, piece) {
  const room = caps[kind] > 0 ? caps[kind] + 1 - total[kind] : piece.length;
  total[kind] += piece.length;
  if (room <= 0) return;
  const kept = piece.subarray(0, room);
  for (let at = 0; at < kept.length; at += 12288)
    tell(kind, ':' + kept.subarray(at, at + 12288).toString('base64'));
}

function finish(code, signal) {
  if (over) return;
  over = true;
  if (spec.stdin) {
    // A part that came when nobody wanted it, or came twice.
    const folder = path.dirname(spec.stdin);
    for (const name of fs.readdirSync(folder)) {
      if (name.startsWith(path.basename(spec.stdin) + '.')) {
        fs.rmSync(path.join(folder, name), { force: true });
      }
    }
  }
  let end = 'exited ' + code;
  if (signal) end = 'signalled ' + os.constants.signals[signal];
  if (late) end = 'wall 0';
  tell(1, '~' + end + ' ' + total[1] + ' ' + total[2]);
  process.exit(0);
}

let part = 0;
let pause = 5;

// The next part of its input, once the program has taken the one before.
function takeInput(stdin) {
  if (over || stdin.destroyed) return;
  const name = spec.stdin + '.' + part;
  if (!fs.existsSync(name + '.ok')) {
    pause = Math.min(2 * pause, 50);
    setTimeout(takeInput, pause, stdin);
    return;
  }
  const bytes = fs.readFileSync(name);
  fs.rmSync(name + '.ok');
  fs.rmSync(name);
  part += 1;
  pause = 5;
  if (bytes.length === 0) stdin.end();
  else stdin.write(bytes, (wrong) => wrong || takeInput(stdin));
}

function refuse(wrong) {
  output(2, Buffer.from('cannot run ' + spec.argv[0] + ': ' + wrong.code + '\n'));
  finish(wrong.code === 'ENOENT' ? 127 : 126, null);
}

try {
  if (spec.cwd) {
    process.chdir(spec.cwd);
    env.PWD = spec.cwd;
  }
  const input = spec.stdin ? 'pipe' : fs.openSync('/dev/null', 'r');
  const child = spawn(spec.argv[0], spec.argv.slice(1), {
    env,
    detached: true,
    stdio: [input, 'pipe', 'pipe'],
  });
  program = child.pid || -1;
  child.on('error', refuse);
  if (spec.stdin) {
    // A program may end without it.
    child.stdin.on('error', () => {});
    takeInput(child.stdin);
  }
  child.stdout.on('data', (piece) => output(1, piece));
  child.stderr.on('data', (piece) => output(2, piece));
  child.on('exit', (code, signal) => {
    endAll();
    setTimeout(() => finish(code, signal), 2000).unref();
    child.on('close', () => finish(code, signal));
  });
  if (spec.limit_ms > 0) {
    setTimeout(() => {
      late = true;
      endAll();
    }, spec.limit_ms).unref();
  }
} catch (wrong) {
  refuse(wrong);
}
for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
  process.on(name, () => {
    endAll();
    process.exit(143);
  });
}
