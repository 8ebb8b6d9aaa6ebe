// Commands through a service's own client, one after the other in one sandbox, as berth-bench-remote does them
// through the adapter: the same requests, and the processor time and the clock's of this process for all of them.
//
// usage: clients.mjs MODULES SERVICE URL COMMANDS     prints {"commands", "cpu_ns", "wall_ns"}
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, service, url, commands] = process.argv.slice(2);

async function daytona() {
  process.env.DAYTONA_USE_DEPRECATED_POLLING = "true";
  const { Daytona } = createRequire(join(modules, "package.json"))("@daytonaio/sdk");
  const client = new Daytona({ apiKey: "dtn_bench", apiUrl: `${url}/api` });
  const box = await client.create({ name: `bench-${process.pid}`, language: "python" });
  let number = 0;
  return {
    async run() {
      const session = `s${number++}`;
      await box.process.createSession(session);
      const { cmdId } = await box.process.executeSessionCommand(session, { command: "true", runAsync: true });
      const { stdout } = await box.process.getSessionCommandLogs(session, cmdId);
      if (!stdout.includes("exited 0")) throw new Error(`it said ${stdout}`);
      await box.process.deleteSession(session);
    },
    end: () => box.delete(),
  };
}

async function vercel() {
  const folder = join(modules, "node_modules", "@vercel", "sandbox");
  const main = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entry = main.exports?.["."]?.import?.default ?? main.exports?.["."]?.import ?? main.module ?? main.main;
  const { Sandbox } = await import(pathToFileURL(join(folder, entry)));
  const there = (address, options) => fetch(String(address).replace("https://vercel.com/api", `${url}/api`), options);
  const box = await Sandbox.create({ token: "tok_bench", teamId: "team_a", projectId: "prj_a", fetch: there,
    name: `bench-${process.pid}`, persistent: false });
  return {
    async run() {
      const done = await box.runCommand({ cmd: "true", args: [] });
      if (done.exitCode !== 0 || !(await done.stdout()).includes("exited 0")) throw new Error("it did not exit with 0");
    },
    end: () => box.delete(),
  };
}

const { run, end } = await { daytona, vercel }[service]();
for (let i = 0; i < Number(commands) / 10; ++i) await run();
const cpu = process.cpuUsage();
const begun = process.hrtime.bigint();
for (let i = 0; i < Number(commands); ++i) await run();
const used = process.cpuUsage(cpu);
console.log(JSON.stringify({ commands: Number(commands), cpu_ns: (used.user + used.system) * 1000,
  wall_ns: Number(process.hrtime.bigint() - begun) }));
await end();
process.exit(0);
