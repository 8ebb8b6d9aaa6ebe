// Starts a stand-in and lets a service's own client drive it, in a process that trusts its authority: Node
// reads NODE_EXTRA_CA_CERTS when it starts, and the authority is as old as the stand-in.
//
// usage: run.mjs MODULES STANDIN SERVICE ENDPOINTS FOLDER
//
// MODULES is a folder with node_modules, FOLDER one for what the stand-in writes. Prints how many of the
// endpoints, which are lines of the file, the client called. Exit 0: every step passed, the client called
// nothing that the stand-in does not know, and no sandbox is left. Exit 77: the clients could not be installed.
import { fork, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [modules, program, service, list, folder] = process.argv.slice(2);
if (!existsSync(join(modules, "node_modules"))) {
  console.log("the services' own clients are not installed; standins.install_clients says why");
  process.exit(77);
}
mkdirSync(folder, { recursive: true });
const child = spawn(program, [service, "--folder", mkdtempSync(join(folder, `${service}-`))],
  { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.on("exit", resolve));
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

async function next() {
  const line = await lines.next();
  if (line.done) throw new Error(`the stand-in ended with code ${await ended}`);
  return JSON.parse(line.value);
}
async function ask(command) {
  child.stdin.write(`${JSON.stringify(command)}\n`);
  return await next();
}

const ready = await next();
const client = fork(new URL(`./${service}.mjs`, import.meta.url), [modules, ready.url],
  { env: { ...process.env, NODE_EXTRA_CA_CERTS: ready.ca } });
let asking = Promise.resolve();
client.on("message", ({ id, command }) => {
  asking = asking.then(async () => client.send({ id, answer: await ask(command) }));
});
const code = await new Promise((resolve) => client.on("exit", resolve));
await asking;

const { journal } = await ask({ journal: true });
const { machines } = await ask({ machines: true });
const endpoints = readFileSync(list, "utf8").split("\n").filter((line) => line !== "");
const called = new Set(journal.map((entry) => entry.endpoint));
const missing = endpoints.filter((name) => !called.has(name));
const foreign = journal.filter((entry) => !endpoints.includes(entry.endpoint));
console.log(`${journal.length} requests; endpoints called: ${endpoints.length - missing.length} of ${endpoints.length}`);
if (missing.length > 0) console.log(`not called:\n  ${missing.join("\n  ")}`);
for (const entry of foreign) console.log(`of no endpoint: ${entry.method} ${entry.path}`);
if (machines !== 0) console.log(`${machines} sandboxes are left`);
child.stdin.end();
const end = await ended;
if (end !== 0) console.log(`the stand-in ended with code ${end}`);
process.exit(code === 0 && foreign.length === 0 && machines === 0 && end === 0 ? 0 : 1);
