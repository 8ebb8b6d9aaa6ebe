// The service's own client, as npm has it, drives the stand-in of Vercel Sandbox. It has no setting for where the
// service is; every call takes a `fetch`, and the one given here goes to the stand-in instead.
//
// usage: vercel.mjs MODULES URL, from run.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { calls, faults, journal, machines, state, steps } from "./control.mjs";

const [modules, url] = process.argv.slice(2);
const folder = join(modules, "node_modules", "@vercel", "sandbox");
const main = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const entry = main.exports?.["."]?.import?.default ?? main.exports?.["."]?.import ?? main.module ?? main.main;
const { Drive, Sandbox, Snapshot } = await import(pathToFileURL(join(folder, entry)));

const there = (address, options) => fetch(String(address).replace("https://vercel.com/api", `${url}/api`), options);
const scope = { token: "tok_test", teamId: "team_a", projectId: "prj_a", fetch: there };
let box;
let first;
let snapshot;

async function failure(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: "the call did not fail" });
}
const status = (error) => error.response?.status;
const code = (error) => error.json?.error?.code;
const shell = async (script, more = {}) => {
  const done = await box.runCommand({ cmd: "sh", args: ["-c", script], ...more });
  return { exit: done.exitCode, out: await done.stdout(), err: await done.stderr() };
};

await steps({
  async "a sandbox is made and runs"() {
    box = await Sandbox.create({ ...scope, name: "rec-one", ports: [3000], timeout: 600_000, resources: { vcpus: 2 },
      networkPolicy: { allow: ["github.com"], subnets: { deny: ["10.0.0.0/8"] } }, env: { A: "1" }, tags: { op: "abc123" } });
    assert.equal(box.name, "rec-one");
    assert.equal(box.status, "running");
    assert.equal(await machines(), 1);
    assert.match(box.domain(3000), /^https:/);
    first = box.currentSession().sessionId;
  },
  async "a second one of the name is refused as a bad request"() {
    const error = await failure(() => Sandbox.create({ ...scope, name: "rec-one" }));
    assert.equal(status(error), 400);
    assert.equal(code(error), "bad_request");
    assert.match(error.json.error.message, /already exists/);
    assert.equal(await machines(), 1);
  },
  async "it is found by its name in its project alone, and listed by tag, prefix and page"() {
    assert.equal((await Sandbox.get({ ...scope, name: "rec-one", resume: false })).name, "rec-one");
    assert.equal(status(await failure(() => Sandbox.get({ ...scope, name: "no-such", resume: false }))), 404);
    assert.equal(status(await failure(() => Sandbox.get({ ...scope, projectId: "prj_b", name: "rec-one", resume: false }))), 404);
    const second = await Sandbox.create({ ...scope, name: "rec-two", runtime: "node24", persistent: false });
    const tagged = await Sandbox.list({ ...scope, limit: 1, tags: { op: "abc123" } });
    assert.deepEqual(tagged.sandboxes.map((one) => one.name), ["rec-one"]);
    const all = await (await Sandbox.list({ ...scope, limit: 1, sortBy: "name", sortOrder: "asc", namePrefix: "rec-" })).toArray();
    assert.deepEqual(all.map((one) => one.name), ["rec-one", "rec-two"]);
    await second.delete();
    assert.equal(await machines(), 1);
  },
  async "a command runs, with its folder, variables, exit code and streams apart"() {
    const done = await shell('echo "$A $B"; pwd; echo err >&2; exit 3', { cwd: "/tmp", env: { B: "2" } });
    assert.deepEqual(done, { exit: 3, out: "1 2\n/tmp\n", err: "err\n" });
  },
  async "output comes as it is written, in whole characters"() {
    const pieces = [];
    const command = await box.runCommand({ cmd: "sh", args: ["-c", "for i in 1 2 3; do printf 'Zeile %s: \\303'; sleep 0.1; printf '\\244\\n'; done"], detached: true });
    for await (const log of command.logs()) pieces.push(log);
    assert.equal(pieces.map((one) => one.data).join(""), "Zeile : ä\n".repeat(3));
    assert.ok(pieces.every((one) => one.stream === "stdout"));
    assert.equal((await command.wait()).exitCode, 0);
  },
  async "a command that takes too long is killed by the service"() {
    const done = await box.runCommand({ cmd: "sleep", args: ["30"], timeoutMs: 500 });
    assert.equal(done.exitCode, 137);
  },
  async "a command in the background is looked at, and ended by a signal"() {
    const command = await box.runCommand({ cmd: "sh", args: ["-c", "echo begun; sleep 30"], detached: true });
    assert.equal((await box.getCommand(command.cmdId)).exitCode, null);
    for await (const log of command.logs()) {
      assert.equal(log.data, "begun\n");
      break;
    }
    await command.kill("SIGTERM");
    assert.equal((await command.wait()).exitCode, 143);
  },
  async "a program that is not there, and one as root"() {
    assert.equal((await box.runCommand("no-such-program")).exitCode, 127);
    assert.equal((await box.runCommand({ cmd: "true", sudo: true })).exitCode, 0);
  },
  async "files go in and come out as they are"() {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) % 256));
    await box.mkDir("sub/dir");
    await box.writeFiles([{ path: "hello.txt", content: Buffer.from("hi there\n") },
      { path: "bin/run.sh", content: Buffer.from("#!/bin/sh\necho ran\n"), mode: 0o755 },
      { path: `sub/${"ä".repeat(60)}.bin`, content: bytes }]);
    assert.equal((await box.readFileToBuffer({ path: "hello.txt" })).toString(), "hi there\n");
    assert.deepEqual(await box.readFileToBuffer({ path: `sub/${"ä".repeat(60)}.bin` }), bytes);
    assert.equal(await box.readFileToBuffer({ path: "nope.txt" }), null);
    assert.equal((await shell("bin/run.sh; ls -d sub/dir")).out, "ran\nsub/dir\n");
  },
  async "its time is extended, and not beyond what there is"() {
    const before = box.currentSession().timeout;
    await box.extendTimeout(60_000);
    assert.equal(box.currentSession().timeout, before + 60_000);
    assert.equal(code(await failure(() => box.extendTimeout(432_000_000))), "sandbox_timeout_invalid");
  },
  async "what it may and is called is changed"() {
    await box.update({ networkPolicy: { allow: { "api.example.com": [{ match: { method: ["POST"], path: { startsWith: "/v1/" } },
      transform: [{ headers: { authorization: "Bearer secret" } }] }], "*": [] }, subnets: { allow: ["10.1.0.0/16"] } } });
    await box.update({ timeout: 900_000, networkPolicy: "deny-all", tags: { op: "abc123", phase: "2" }, ports: [3000, 8080] });
    assert.equal(box.tags.phase, "2");
    assert.equal((await Sandbox.get({ ...scope, name: "rec-one", resume: false })).networkPolicy, "deny-all");
  },
  async "a snapshot ends the session, and the next command begins another with the same files"() {
    snapshot = await box.snapshot({ expiration: 86_400_000 });
    assert.equal(snapshot.status, "created");
    assert.equal(await machines(), 0);
    assert.equal((await shell("cat hello.txt")).out, "hi there\n");
    assert.notEqual(box.currentSession().sessionId, first);
    assert.equal(await machines(), 1);
    const sessions = await box.listSessions();
    assert.deepEqual(sessions.sessions.map((one) => one.status), ["running", "stopped"]);
  },
  async "a stopped sandbox leaves a snapshot and is resumed from it"() {
    await shell("echo later > later.txt");
    const stopped = await box.stop();
    assert.equal(stopped.status, "stopped");
    assert.equal(await machines(), 0);
    const again = await Sandbox.get({ ...scope, name: "rec-one", resume: true });
    assert.equal((await again.readFileToBuffer({ path: "later.txt" })).toString(), "later\n");
    box = again;
  },
  async "snapshots are listed, followed to where they come from, made sandboxes of and deleted"() {
    assert.ok((await Snapshot.list({ ...scope, name: "rec-one" })).snapshots.length >= 2);
    assert.equal((await Snapshot.get({ ...scope, snapshotId: snapshot.snapshotId })).status, "created");
    const latest = (await Snapshot.list({ ...scope, name: "rec-one" })).snapshots[0];
    const tree = await Snapshot.tree({ ...scope, snapshotId: latest.id, sortOrder: "desc" });
    assert.deepEqual(tree.snapshots.map((one) => one.snapshot.id), [snapshot.snapshotId]);
    const copy = await Sandbox.create({ ...scope, name: "rec-copy", source: { type: "snapshot", snapshotId: snapshot.snapshotId } });
    assert.equal((await copy.readFileToBuffer({ path: "hello.txt" })).toString(), "hi there\n");
    await copy.delete();
    await snapshot.delete();
    const error = await failure(() => Sandbox.create({ ...scope, source: { type: "snapshot", snapshotId: snapshot.snapshotId } }));
    assert.equal(status(error), 410);
    assert.equal(code(error), "snapshot_not_found");
  },
  async "a fork has the files of what it is of"() {
    const fork = await Sandbox.fork({ ...scope, sourceSandbox: "rec-one", name: "rec-fork", env: { X: "y" } });
    assert.equal((await fork.readFileToBuffer({ path: "hello.txt" })).toString(), "hi there\n");
    await fork.delete();
  },
  async "a drive is kept, and not deleted while something holds it"() {
    const drive = await Drive.getOrCreate({ ...scope, name: "data-1", maxSize: 1_073_741_824 });
    assert.equal((await Drive.list({ ...scope })).drives.length, 1);
    const holder = await Sandbox.create({ ...scope, name: "rec-drive", mounts: { "/data": { drive: "data-1", mode: "read-write" } } });
    assert.equal(status(await failure(() => drive.delete())), 409);
    await holder.delete();
    await drive.delete();
  },
  async "one that is there or is made"() {
    const one = await Sandbox.getOrCreate({ ...scope, name: "goc" });
    const same = await Sandbox.getOrCreate({ ...scope, name: "goc" });
    assert.equal(one.currentSession().sessionId, same.currentSession().sessionId);
    await one.delete();
  },
  async "a session ends at its timeout, and what ran in it is not said to have ended"() {
    const short = await Sandbox.create({ ...scope, name: "short", timeout: 1500, persistent: false });
    const error = await failure(() => short.runCommand("sleep", ["60"]));
    assert.equal(error.code ?? code(error), "sandbox_stream_closed");
    await short.delete();
  },
  async "the client's own outcomes of what goes wrong"() {
    let since = (await journal()).length;
    await faults({ endpoint: "POST /v3/sandboxes", do: "answer", status: 429, headers: { "Retry-After": "1" },
      body: '{"error":{"code":"rate_limited","message":"Too many requests"}}' });
    const limited = await Sandbox.create({ ...scope, name: "limited" });
    assert.equal(await calls("POST /v3/sandboxes", since), 2);
    await limited.delete();
    since = (await journal()).length;
    await faults({ endpoint: "POST /v3/sandboxes", do: "answer", times: 3, status: 502, type: "text/html", body: "<html>bad gateway</html>" });
    assert.equal(status(await failure(() => Sandbox.create({ ...scope, name: "page" }))), 502);
    assert.equal(await calls("POST /v3/sandboxes", since), 3);
    // It sends a create again that was done and whose answer was lost, and is told that the name is taken.
    await faults({ endpoint: "POST /v3/sandboxes", do: "drop", when: "after" });
    assert.equal(status(await failure(() => Sandbox.create({ ...scope, name: "lost" }))), 400);
    assert.equal((await state()).sandboxes.filter((one) => one.name === "lost" && one.live).length, 1);
    await (await Sandbox.get({ ...scope, name: "lost", resume: false })).delete();
    await faults({ endpoint: "POST /v3/sandboxes", do: "state", state: "quantum", looks: 9 });
    assert.match((await failure(() => Sandbox.create({ ...scope, name: "strange" }))).message, /not valid/);
    await faults({ endpoint: "POST /v2/sandboxes/sessions/{session}/cmd", do: "cut", bytes: 300 });
    assert.ok(await failure(() => box.runCommand("sh", ["-c", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.01; done"])));
    await faults({ endpoint: "POST /v2/sandboxes/sessions/{session}/fs/read", do: "expire" });
    assert.equal(status(await failure(() => box.readFileToBuffer({ path: "hello.txt" }))), 403);
  },
  async "a deleted sandbox is gone, and another token sees to it"() {
    const other = { ...scope, token: "tok_other" };
    for (const name of ["strange", "rec-one"]) {
      const raw = await there(`https://vercel.com/api/v2/sandboxes/${name}?teamId=team_a&projectId=prj_a&deleteOrphanSnapshots=true`,
        { method: "DELETE", headers: { authorization: "Bearer tok_other" } });
      assert.equal(raw.status, 200);
    }
    const gone = await failure(() => Sandbox.get({ ...other, name: "rec-one", resume: false }));
    assert.equal(status(gone), 404);
    assert.equal(code(gone), "not_found");
    assert.equal(await machines(), 0);
  },
});
