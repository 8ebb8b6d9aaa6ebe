// What programs use of Node.js works in one that was forked from a template, and what is drawn at random
// does not repeat.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <utility>

#include "node_programs.h"

namespace berth::local {
namespace {

// What programs use, each as a program that says `fine` at its end.
constexpr std::pair<const char*, const char*> kFeatures[] = {
    {"timers and promises", R"js(
      const { setTimeout: pause } = require("timers/promises");
      let ticks = 0;
      const interval = setInterval(() => {
        if (++ticks < 3) return;
        clearInterval(interval);
        pause(30).then(() => { if (ticks === 3) console.log("fine"); });
      }, 2);)js"},
    {"files and the thread pool", R"js(
      const fs = require("fs"), crypto = require("crypto"), dns = require("dns");
      (async () => {
        await fs.promises.mkdir("a/b", { recursive: true });
        await Promise.all([...Array(20).keys()].map((i) => fs.promises.writeFile(`a/b/${i}`, String(i))));
        const names = await fs.promises.readdir("a/b");
        const key = await require("util").promisify(crypto.pbkdf2)("a", "b", 1000, 16, "sha256");
        const { address } = await dns.promises.lookup("localhost");
        if (names.length === 20 && key.length === 16 && /^127|^::1/.test(address)) console.log("fine");
      })();)js"},
    {"child processes", R"js(
      const { execFileSync, spawn, fork } = require("child_process");
      const one = execFileSync("node", ["-p", "6 * 7"]).toString().trim();
      const two = require("child_process").execSync("echo $0 | cat").toString();
      if (process.argv[2] === "child") { process.send({ pid: process.pid }); process.disconnect(); return; }
      const child = spawn("cat");
      let said = "";
      child.stdout.on("data", (d) => { said += d; });
      child.stdin.end("through");
      child.on("close", (code) => {
        fork(__filename, ["child"]).on("message", ({ pid }) => {
          if (one === "42" && two && said === "through" && code === 0 && pid !== process.pid) console.log("fine");
        });
      });)js"},
    {"worker threads", R"js(
      const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
      if (!isMainThread) return parentPort.postMessage([workerData * 2, Math.random()]);
      const shared = new Int32Array(new SharedArrayBuffer(4));
      Promise.all([1, 2, 3].map((n) => new Promise((done, failed) => {
        new Worker(__filename, { workerData: n }).once("message", done).once("error", failed);
      }))).then((answers) => {
        const drawn = new Set(answers.map(([, random]) => random));
        new Worker("const a = require('worker_threads').workerData; Atomics.store(a, 0, 5); Atomics.notify(a, 0)",
          { eval: true, workerData: shared }).on("exit", () => {
          if (answers.map(([n]) => n).join() === "2,4,6" && drawn.size === 3 && shared[0] === 5) console.log("fine");
        });
      });)js"},
    {"WebAssembly", R"js(
      const bytes = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7,
        7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
      const sync = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.add(2, 3);
      WebAssembly.instantiate(bytes).then(({ instance }) => {
        let sum = 0;
        for (let i = 0; i < 200000; i++) sum = instance.exports.add(sum, 1);
        if (sync === 5 && sum === 200000) console.log("fine");
      });)js"},
    {"an HTTP server and its client", R"js(
      const http = require("http");
      const server = http.createServer((request, response) => {
        let body = "";
        request.on("data", (d) => { body += d; }).on("end", () => response.end(body.toUpperCase()));
      }).listen(0, "127.0.0.1", async () => {
        const url = `http://127.0.0.1:${server.address().port}/`;
        const fetched = await (await fetch(url, { method: "POST", body: "by fetch" })).text();
        http.request(url, { method: "POST", agent: false }, (response) => {
          response.on("data", (d) => {
            server.close();
            server.closeAllConnections();
            if (String(d) === "BY REQUEST" && fetched === "BY FETCH") console.log("fine");
          });
        }).end("by request");
      });)js"},
    {"imports", R"js(
      const fs = require("fs");
      fs.writeFileSync("one.mjs", "export const a = 1; export { b } from './two.mjs';");
      fs.writeFileSync("two.mjs", "import { createRequire } from 'node:module';"
        + "export const b = createRequire(import.meta.url)('./three.cjs').c;");
      fs.writeFileSync("three.cjs", "exports.c = require('node:path').sep;");
      fs.mkdirSync("node_modules/own", { recursive: true });
      fs.writeFileSync("node_modules/own/package.json", '{"name":"own","type":"module","exports":"./i.js"}');
      fs.writeFileSync("node_modules/own/i.js", "export default 'own';");
      Promise.all([import("./one.mjs"), import("own"), import("node:os")]).then(([{ a, b }, own, os]) => {
        if (a === 1 && b === "/" && own.default === "own" && os.EOL === "\n") console.log("fine");
      });)js"},
    {"much garbage", R"js(
      let kept = [];
      for (let round = 0; round < 60; round++) {
        kept = kept.slice(-5);
        kept.push(Array.from({ length: 20000 }, (_, i) => ({ i, text: `${i}`, list: [i] })));
      }
      const registry = new FinalizationRegistry(() => {});
      for (let i = 0; i < 1000; i++) registry.register({ i }, i);
      if (kept.length === 6 && kept[5][19999].list[0] === 19999) console.log("fine");)js"},
    {"a hot loop", R"js(
      function mix(n) { let a = 1; for (let i = 0; i < n; i++) a = (Math.imul(a, 1664525) + 1013904223 + i) | 0; return a; }
      let sum = 0;
      for (let i = 0; i < 300; i++) sum ^= mix(50000);
      class P { constructor(x) { this.x = x; } get y() { return this.x * 2; } }
      for (let i = 0; i < 500000; i++) sum += new P(i).y & 1;
      if (Number.isInteger(sum)) console.log("fine");)js"},
    {"compression", R"js(
      const zlib = require("zlib"), { promisify } = require("util"), text = "a line of text\n".repeat(5000);
      const { pipeline } = require("stream/promises"), { Readable, Writable } = require("stream");
      (async () => {
        const packed = await promisify(zlib.gzip)(text);
        const back = [];
        await pipeline(Readable.from([packed]), zlib.createGunzip(),
          new Writable({ write(chunk, _, done) { back.push(chunk); done(); } }));
        if (Buffer.concat(back).toString() === text && zlib.inflateSync(zlib.deflateSync(text)).length === text.length)
          console.log("fine");
      })();)js"},
    {"cryptography", R"js(
      const crypto = require("crypto");
      crypto.generateKeyPair("ec", { namedCurve: "P-256" }, async (fault, publicKey, privateKey) => {
        const signed = crypto.sign("sha256", Buffer.from("text"), privateKey);
        const digest = await crypto.webcrypto.subtle.digest("SHA-256", Buffer.from("text"));
        const same = Buffer.from(digest).equals(crypto.createHash("sha256").update("text").digest());
        if (!fault && same && crypto.verify("sha256", Buffer.from("text"), publicKey, signed)) console.log("fine");
      });)js"},
    {"contexts, intervals of time and local storage", R"js(
      const vm = require("vm"), { AsyncLocalStorage } = require("async_hooks"), { performance } = require("perf_hooks");
      const storage = new AsyncLocalStorage();
      const before = process.hrtime.bigint();
      storage.run({ id: 7 }, () => setTimeout(() => {
        const passed = Number(process.hrtime.bigint() - before) / 1e6;
        const context = vm.createContext({ a: 2 });
        const made = vm.runInContext("a * 21", context);
        performance.mark("a"); performance.measure("m", "a");
        if (made === 42 && passed >= 19 && storage.getStore().id === 7) console.log("fine");
      }, 20));)js"},
    {"a debugger's protocol", R"js(
      const { Session } = require("inspector");
      const session = new Session();
      session.connect();
      session.post("Runtime.evaluate", { expression: "6 * 7" }, (fault, { result }) => {
        session.disconnect();
        if (result.value === 42) console.log("fine");
      });)js"},
};

TEST(NodeTemplate, WhatProgramsUseWorks) {
  for (const auto& [name, source] : kFeatures) {
    const Ran ran = forked({source});
    EXPECT_EQ(ran.out, "fine\n") << name;
    // Some of it is experimental in an older version, which says so.
    if (!ran.err.empty()) {
      EXPECT_EQ(without_number(ran.err), without_number(cold({source}).err)) << name;
    }
    EXPECT_EQ(ran.result.exit_code, 0) << name << ", signal " << ran.result.signal << " after "
                                       << ran.result.usage.value_or(Usage{}).cpu_ns / 1'000'000 << " ms of the processor";
  }
}

TEST(NodeTemplate, NothingDrawnAtRandomRepeats) {
  const std::string source = R"js(
    const crypto = require("crypto"), fs = require("fs"), path = require("path"), vm = require("vm");
    console.log(Math.random());
    console.log(Math.random());
    console.log(crypto.randomUUID());
    console.log(crypto.randomBytes(16).toString("hex"));
    console.log(crypto.randomInt(2 ** 47));
    console.log(crypto.webcrypto.getRandomValues(new Uint32Array(4)).join());
    console.log(globalThis.crypto?.randomUUID() ?? crypto.randomUUID());
    console.log(path.basename(fs.mkdtempSync("/tmp/x-")));
    const { Worker } = require("worker_threads");
    const ask = "const c = require('crypto'); require('worker_threads').parentPort.postMessage("
      + "[Math.random(), c.randomUUID()])";
    new Worker(ask, { eval: true }).on("message", (drawn) => console.log(drawn.join("\n")));
  )js";
  std::set<std::string> seen;
  constexpr std::size_t kSandboxes = 4;
  constexpr std::size_t kDraws = 10;
  for (std::size_t i = 0; i < kSandboxes; ++i) {
    const Ran ran = forked({source});
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) seen.insert(line);
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_EQ(seen.size(), kSandboxes * kDraws);
}

TEST(NodeTemplate, WhatIsDrawnAtRandomIsSpreadEvenly) {
  const Ran ran = forked({R"js(
    const buckets = new Array(16).fill(0);
    let least = 1, most = 0;
    for (let i = 0; i < 160000; i++) {
      const x = Math.random();
      least = Math.min(least, x);
      most = Math.max(most, x);
      buckets[Math.floor(x * 16)]++;
    }
    console.log(least >= 0 && most < 1 && buckets.every((n) => n > 9400 && n < 10600));
  )js"});
  EXPECT_EQ(ran.out, "true\n");
}

}  // namespace
}  // namespace berth::local
