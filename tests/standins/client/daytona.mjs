// The service's own client, as npm has it, drives the stand-in of Daytona.
//
// usage: daytona.mjs MODULES URL, from run.mjs
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { calls, faults, journal, machines, state, steps } from "./control.mjs";

const [modules, url] = process.argv.slice(2);
process.env.DAYTONA_USE_DEPRECATED_POLLING = "true";
const { Daytona, Image } = createRequire(join(modules, "package.json"))("@daytonaio/sdk");
const daytona = new Daytona({ apiKey: "dtn_test", apiUrl: `${url}/api` });
const patience = (start) => assert.ok(Date.now() - start < 60_000, "it takes too long");
let box;
let command;
let context;

// The outcome of a call that must fail: its class and what the service said.
async function failure(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: "the call did not fail" });
}

const absent = async (id) => {
  const start = Date.now();
  while (true) {
    const one = await daytona.get(id).catch((error) => error);
    if (one.statusCode === 404) return;
    patience(start);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

await steps({
  async "a sandbox is made and started"() {
    box = await daytona.create({ name: "op-abc-123", envVars: { FOO: "bar" }, labels: { op: "abc-123" },
      autoStopInterval: 5, autoDeleteInterval: 60, networkBlockAll: true, language: "python" });
    assert.equal(box.state, "started");
    assert.equal(box.name, "op-abc-123");
    assert.equal(await machines(), 1);
  },
  async "a second one of the name is refused"() {
    const error = await failure(() => daytona.create({ name: "op-abc-123" }));
    assert.equal(error.statusCode, 409);
    assert.match(error.message, /already exists/);
  },
  async "it is found by name and by id, and one that is not there is not"() {
    assert.equal((await daytona.get("op-abc-123")).id, box.id);
    assert.equal((await daytona.get(box.id)).name, "op-abc-123");
    assert.equal((await failure(() => daytona.get("nope"))).statusCode, 404);
  },
  async "it is listed by its labels"() {
    const found = [];
    for await (const one of daytona.list({ labels: { op: "abc-123" }, limit: 10 })) found.push(one.id);
    assert.deepEqual(found, [box.id]);
    const others = [];
    for await (const one of daytona.list({ labels: { op: "other" } })) others.push(one.id);
    assert.deepEqual(others, []);
  },
  async "a command runs, with its folder, variables, exit code and both streams"() {
    const done = await box.process.executeCommand('echo "$A $FOO"; pwd; echo oops >&2; exit 3', "/tmp", { A: "1" }, 10);
    assert.equal(done.exitCode, 3);
    assert.equal(done.result, "1 bar\n/tmp\noops\n");
  },
  async "a command that takes too long is ended"() {
    const error = await failure(() => box.process.executeCommand("echo $$ > pid; exec sleep 100", undefined, undefined, 1));
    assert.equal(error.statusCode, 408);
    const alive = await box.process.executeCommand('kill -0 "$(cat pid)"; echo $?', undefined, undefined, 10);
    assert.match(alive.result, /1\n$/);
  },
  async "code runs in a process of its own"() {
    const done = await box.process.codeRun("import sys, os\nprint(1 + 1, sys.argv[1:], os.environ['Z'])",
      { argv: ["a"], env: { Z: "1" } }, 30);
    assert.equal(done.exitCode, 0);
    assert.equal(done.result, "2 ['a'] 1\n");
  },
  async "a session keeps its folder and its variables"() {
    await box.process.createSession("sess-1");
    assert.equal((await failure(() => box.process.createSession("sess-1"))).statusCode, 409);
    await box.process.executeSessionCommand("sess-1", { command: "cd /tmp; export KEPT=yes" });
    const done = await box.process.executeSessionCommand("sess-1", { command: "pwd; echo $KEPT; echo err >&2; false" });
    assert.equal(done.stdout, "/tmp\nyes\n");
    assert.equal(done.stderr, "err\n");
    assert.equal(done.exitCode, 1);
  },
  async "a session's command runs in the background and is followed"() {
    command = await box.process.executeSessionCommand("sess-1", {
      command: "for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.1; done; exit_code() { return 4; }; exit_code",
      runAsync: true,
    });
    assert.equal(command.exitCode ?? null, null);
    let out = "";
    let err = "";
    await box.process.getSessionCommandLogs("sess-1", command.cmdId, (text) => { out += text; }, (text) => { err += text; });
    assert.equal(out, "out 1\nout 2\nout 3\n");
    assert.equal(err, "err 1\nerr 2\nerr 3\n");
    assert.equal((await box.process.getSessionCommand("sess-1", command.cmdId)).exitCode, 4);
    const logs = await box.process.getSessionCommandLogs("sess-1", command.cmdId);
    assert.equal(logs.stdout, "out 1\nout 2\nout 3\n");
    assert.equal(logs.stderr, "err 1\nerr 2\nerr 3\n");
  },
  async "a session's command is given input"() {
    const reads = await box.process.executeSessionCommand("sess-1", { command: "read line; echo got $line", runAsync: true });
    await box.process.sendSessionCommandInput("sess-1", reads.cmdId, "hello");
    const start = Date.now();
    while ((await box.process.getSessionCommand("sess-1", reads.cmdId)).exitCode === undefined) patience(start);
    assert.match((await box.process.getSessionCommandLogs("sess-1", reads.cmdId)).stdout, /got hello\n$/);
    assert.equal((await failure(() => box.process.sendSessionCommandInput("sess-1", reads.cmdId, "more"))).statusCode, 410);
  },
  async "sessions are listed, and all that runs in one ends with it"() {
    await box.process.executeSessionCommand("sess-1", { command: "setsid sleep 999 & echo $! > /tmp/left", runAsync: false });
    assert.deepEqual((await box.process.listSessions()).map((one) => one.sessionId), ["sess-1"]);
    assert.equal((await box.process.getSession("sess-1")).commands.length > 3, true);
    await box.process.deleteSession("sess-1");
    const left = await box.process.executeCommand("pgrep -x sleep | wc -l", undefined, undefined, 10);
    assert.equal(left.result.trim(), "0");
    assert.equal((await failure(() => box.process.getSession("sess-1"))).statusCode, 404);
  },
  async "files go in and come out as they are"() {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) % 256));
    await box.fs.uploadFile(bytes, "/home/daytona/data/bytes.bin");
    assert.deepEqual(await box.fs.downloadFile("/home/daytona/data/bytes.bin"), bytes);
    await box.fs.uploadFiles([{ source: Buffer.from("eins"), destination: "a.txt" }, { source: Buffer.from("zwei"), destination: "b.txt" }]);
    const both = await box.fs.downloadFiles([{ source: "a.txt" }, { source: "nope.txt" }]);
    assert.equal(both[0].result.toString(), "eins");
    assert.match(String(both[1].error), /not found/);
    assert.equal((await box.process.executeCommand("cat b.txt", undefined, undefined, 10)).result, "zwei");
    assert.equal((await failure(() => box.fs.downloadFile("/nope"))).statusCode, 404);
  },
  async "files are looked at, changed and removed"() {
    await box.fs.createFolder("work/deep", "755");
    await box.fs.moveFiles("a.txt", "work/deep/a.txt");
    await box.fs.setFilePermissions("work/deep/a.txt", { mode: "600" });
    const info = await box.fs.getFileDetails("work/deep/a.txt");
    assert.equal(info.size, 4);
    assert.equal(info.isDir, false);
    assert.equal(info.permissions, "0600");
    assert.deepEqual((await box.fs.listFiles("work")).map((one) => [one.name, one.isDir]), [["deep", true]]);
    assert.equal((await box.fs.findFiles("work", "ein"))[0].line, 1);
    assert.equal((await box.fs.searchFiles("work", "*.txt")).files.length, 1);
    assert.equal((await box.fs.replaceInFiles(["work/deep/a.txt"], "eins", "drei"))[0].success, true);
    assert.equal((await box.fs.downloadFile("work/deep/a.txt")).toString(), "drei");
    await box.fs.deleteFile("work", true);
    assert.equal((await failure(() => box.fs.getFileDetails("work"))).statusCode, 404);
  },
  async "a signed address of a file needs no key, and is good until the key is another"() {
    const up = await box.uploadUrl("signed.txt");
    const form = new FormData();
    form.append("file", new Blob(["signed"]));
    assert.equal((await fetch(up.url ?? up, { method: "POST", body: form })).status, 200);
    const down = await box.downloadUrl("signed.txt");
    assert.equal(await (await fetch(down.url ?? down)).text(), "signed");
    await box.rotateSigningKey();
    assert.equal((await fetch(down.url ?? down)).status, 401);
    assert.match((await box.getSignedPreviewUrl(3000)).url, /^https:/);
  },
  async "the interpreter keeps names from run to run, in contexts apart"() {
    assert.equal((await box.codeInterpreter.runCode("x = 41\nprint('hi')")).stdout, "hi\n");
    assert.equal((await box.codeInterpreter.runCode("print(x + 1)")).stdout, "42\n");
    context = await box.codeInterpreter.createContext("/tmp");
    const there = await box.codeInterpreter.runCode("import os; print(os.getcwd(), 'x' in dir())", { context });
    assert.equal(there.stdout, "/tmp False\n");
    assert.equal((await box.codeInterpreter.listContexts()).length, 1);
    const failed = await box.codeInterpreter.runCode("raise ValueError('bad')");
    assert.equal(failed.error.name, "ValueError");
    await box.codeInterpreter.deleteContext(context);
    assert.equal((await box.codeInterpreter.listContexts()).length, 0);
  },
  async "what a sandbox is and may is changed and told"() {
    await box.setLabels({ op: "abc-123", x: "y" });
    await box.setAutostopInterval(30);
    await box.setAutoArchiveInterval(60);
    await box.setAutoDeleteInterval(60);
    await box.setTtl(120);
    assert.equal((await failure(() => box.recover())).statusCode, 400);
    await box.updateNetworkSettings({ networkBlockAll: false, networkAllowList: "10.0.0.0/8" });
    await box.refreshActivity();
    await box.refreshData();
    assert.equal(box.labels.x, "y");
    assert.equal(box.autoStopInterval, 30);
    assert.equal(box.networkAllowList, "10.0.0.0/8");
    assert.match(await box.getWorkDir(), /^\//);
    assert.match(await box.getUserHomeDir(), /^\//);
    assert.match((await box.getPreviewLink(3000)).url, /^https:/);
    assert.equal((await failure(() => box.pause())).statusCode, 422);
    assert.equal((await failure(() => box.setAutoPauseInterval(5))).statusCode, 422);
    await box.updateEnv({ LATER: "1" });
    assert.equal((await box.process.executeCommand("echo $LATER", undefined, undefined, 10)).result, "1\n");
  },
  async "a stopped sandbox keeps its files and runs nothing until it is started"() {
    await box.stop();
    assert.equal(box.state, "stopped");
    const error = await failure(() => box.process.executeCommand("true", undefined, undefined, 10));
    assert.equal(error.statusCode, 400);
    await box.archive();
    await box.start();
    assert.equal((await box.process.executeCommand("cat b.txt", undefined, undefined, 10)).result, "zwei");
  },
  async "what is in a sandbox is in its fork and in one made of its snapshot"() {
    await box._experimental_createSnapshot("snap-1");
    const copies = [await daytona.create({ snapshot: "snap-1", name: "copy-1" }), await box._experimental_fork({ name: "copy-2" })];
    for (const copy of copies) {
      assert.equal((await copy.process.executeCommand("cat b.txt", undefined, undefined, 10)).result, "zwei");
      await copy.delete();
      await absent(copy.id);
    }
  },
  async "snapshots and volumes are kept"() {
    const made = await daytona.snapshot.create({ name: "sn", image: "debian:12.9" });
    assert.equal(made.state, "active");
    assert.deepEqual((await daytona.snapshot.list()).items.map((one) => one.name), ["daytona-small", "snap-1", "sn"]);
    await daytona.snapshot.activate(made);
    await daytona.snapshot.delete(made);
    const volume = await daytona.volume.get("data", true);
    assert.equal((await daytona.volume.list()).length, 1);
    await daytona.volume.delete(volume);
  },
  async "an image, resources and a time to live are taken"() {
    const one = await daytona.create({ image: Image.base("python:3.12-slim"), resources: { cpu: 2, memory: 4, disk: 8 }, ttlMinutes: 60 });
    assert.equal(one.cpu, 2);
    await one.resize({ cpu: 4 });
    await one.delete();
    await absent(one.id);
  },
  async "the client's own outcomes of what goes wrong"() {
    let since = (await journal()).length;
    await faults({ endpoint: "POST /sandbox", do: "drop" });
    assert.equal((await failure(() => daytona.create({ name: "never" }))).name, "DaytonaConnectionError");
    assert.equal(await calls("POST /sandbox", since), 1);
    since = (await journal()).length;
    await faults({ endpoint: "POST /sandbox", do: "drop", when: "after" });
    await failure(() => daytona.create({ name: "lost" }));
    assert.equal((await state()).sandboxes.filter((one) => one.name === "lost" && one.live).length, 1);
    assert.equal((await failure(() => daytona.create({ name: "lost" }))).statusCode, 409);
    const lost = await daytona.get("lost");
    await faults({ endpoint: "GET /sandbox/{id}", do: "drop", times: 2 });
    assert.equal((await daytona.get("lost")).id, lost.id);
    await faults({ endpoint: "DELETE /sandbox/{id}", do: "answer", status: 409, body: '{"statusCode":409,"message":"Sandbox state change in progress"}' });
    assert.equal((await failure(() => lost.delete())).name, "DaytonaConflictError");
    await lost.delete();
    await absent(lost.id);
    await faults({ endpoint: "POST /sandbox", do: "answer", status: 429, headers: { "Retry-After-sandbox-create": "7" }, body: "{}" });
    assert.equal((await failure(() => daytona.create({}))).name, "DaytonaRateLimitError");
    await faults({ endpoint: "POST /sandbox", do: "answer", status: 502, type: "text/html", body: "<html>bad gateway</html>" });
    assert.equal((await failure(() => daytona.create({}))).statusCode, 502);
    await faults({ endpoint: "POST /sandbox", do: "state", state: "quantum", looks: 3 });
    const strange = await daytona.create({ name: "strange" });
    assert.equal(strange.state, "started");
    await strange.delete();
    await faults({ endpoint: "POST /sandbox", do: "state", state: "error" });
    assert.equal((await failure(() => daytona.create({ name: "broken" }))).statusCode, 400);
    await (await daytona.get("broken")).delete();
    await faults({ endpoint: "POST /sandbox", do: "hide", looks: 2 });
    const hidden = await daytona.create({ name: "hidden" });
    assert.equal((await failure(() => daytona.get("hidden"))).statusCode, 404);
    assert.equal((await failure(() => daytona.get("hidden"))).statusCode, 404);
    assert.equal((await daytona.get("hidden")).id, hidden.id);
    await faults({ endpoint: "DELETE /sandbox/{id}", do: "linger", looks: 3 });
    await hidden.delete();
    await absent(hidden.id);
    await faults({ endpoint: "POST /toolbox/{id}/process/execute", do: "expire" });
    assert.equal((await failure(() => box.process.executeCommand("true", undefined, undefined, 10))).name, "DaytonaAuthenticationError");
  },
  async "a deleted sandbox goes, and another key still sees to it"() {
    const other = new Daytona({ apiKey: "dtn_other", apiUrl: `${url}/api` });
    const same = await other.get(box.id);
    await same.delete();
    const start = Date.now();
    while (true) {
      const seen = await other.get(box.id).catch((error) => error);
      if (seen.statusCode === 404) break;
      patience(start);
    }
    assert.equal((await failure(() => same.process.executeCommand("true", undefined, undefined, 10))).statusCode, 400);
    while ((await machines()) > 0) patience(start);
  },
});
