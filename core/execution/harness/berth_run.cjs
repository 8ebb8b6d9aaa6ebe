// Runs a JavaScript program from its own file under its own name. What the program leaves (a returned
// value, `result`, its error) is appended to a private file at the process's end.
//
// A program that plain node would take as CommonJS is run as that, in sloppy mode, with a top-level
// `return` allowed. Otherwise it is an ES module, with `require` and its kin present as globals. A
// program that is neither because it uses `return` beside `await` or `import` becomes the body of an
// async function. Nothing is put in front of the source but what line offsets hide, so every line
// and column is the program's own.
"use strict";

const fs = require("node:fs");
const vm = require("node:vm");
const pathModule = require("node:path");
const { Module, createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [, harnessPath, programPath, recordPath, nonce, ...programArguments] = process.argv;
const TEXT_MAX = 262144;
const VALUE_MAX = 16384;
const TRACE_MAX = 65536;
const DEPTH_MAX = 16;
const ROOM_BYTES = 65536;
const roomPath = `${recordPath}.room`;

const state = {
  settled: true,       // false while a top-level await or a returned promise is open
  drained: false,      // the event loop ran empty
  hasReturned: false,
  returned: undefined,
  readers: [],         // [name, function that reads the program's variable]
  fault: undefined,    // { error } once something was thrown and not caught
  opened: false,
};

// Kept before the program can rebind them.
const { openSync, writeSync, closeSync, constants: flags } = fs;
const { fstatSync, ftruncateSync, linkSync, unlinkSync } = fs;
const { stringify } = JSON;
const { isArray } = Array;
const { inspect } = require("node:util");
const getPrototypeOf = Object.getPrototypeOf;

function append(kind, header) {
  let bytes = Buffer.from(header.toWellFormed ? header.toWellFormed() : header, "utf8");
  bytes = Buffer.concat([Buffer.from(`${kind} ${bytes.length} 0\n`), bytes, Buffer.from("\n\n")]);
  if (!state.opened) {
    useRoom();
    bytes = Buffer.concat([Buffer.from(`berth-result 1 ${nonce}\n`), bytes]);
  }
  const mode = flags.O_WRONLY | flags.O_CREAT | flags.O_APPEND | flags.O_NOFOLLOW;
  const descriptor = openSync(recordPath, mode, 0o600);
  const before = fstatSync(descriptor).size;
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
    state.opened = true;
  } catch (fault) {
    // Half a record would hide what comes after it, such as the note of this very fault.
    ftruncateSync(descriptor, before);
    throw fault;
  } finally {
    closeSync(descriptor);
  }
}

// A program may fill its disk or use up its files; what it leaves is to be told all the same.
function keepRoom() {
  const mode = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW;
  try {
    const descriptor = openSync(roomPath, mode, 0o600);
    try {
      writeSync(descriptor, Buffer.alloc(ROOM_BYTES, " "));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Without room there may be no record; the exit code stands.
  }
}

// The room becomes the record, unless the program has put something in its place.
function useRoom() {
  try {
    closeSync(openSync(roomPath, flags.O_WRONLY | flags.O_TRUNC | flags.O_NOFOLLOW));
    linkSync(roomPath, recordPath);
  } catch {
    // Then the record is made as if there had been no room.
  }
  try {
    unlinkSync(roomPath);
  } catch {
    // The program may have removed it.
  }
}

function describe(fault) {
  try {
    return `${fault.name}: ${fault.message}`.slice(0, 500);
  } catch {
    return "something that cannot be shown";
  }
}

const note = (text) => append("note", stringify({ text: text.slice(0, VALUE_MAX) }));

// Whether JSON says the value as it is, with nothing dropped or turned into something else.
function isJson(value, depth = 0) {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth >= DEPTH_MAX) return false;
  if (isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype = getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  if (typeof value.toJSON === "function") return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}

function reportResult() {
  let name = "return";
  let value = state.returned;
  if (value === undefined) {
    for (const [readName, read] of state.readers) {
      try {
        value = read();
      } catch {
        value = undefined;
      }
      name = readName;
      if (value !== undefined) break;
    }
  }
  if (value === undefined) return;
  let text;
  try {
    const shape = { depth: 4, colors: false, maxArrayLength: 100, breakLength: 120 };
    text = typeof value === "string" ? value : inspect(value, shape);
  } catch (fault) {
    note(`${name} could not be shown: ${describe(fault)}`);
    return;
  }
  const record = { name, text: text.slice(0, TEXT_MAX), truncated: text.length > TEXT_MAX };
  let header = stringify(record);
  try {
    const encoded = isJson(value) ? stringify(value) : undefined;
    if (encoded !== undefined && encoded.length <= TEXT_MAX) {
      header = `${header.slice(0, -1)},"json":${encoded}}`;
    }
  } catch {
    // A getter that throws: the text is all there is.
  }
  append("result", header);
}

// The program's own frames: what lies below the call from this file is of no interest to it.
function withoutHarness(stack) {
  const lines = String(stack).split("\n");
  const cut = lines.findIndex((line) => /^\s+at /.test(line) && line.includes(harnessPath));
  if (cut === -1) return lines.join("\n");
  const kept = lines.slice(0, cut);
  while (kept.length > 1 && /^\s+at .*\(?node:(internal\/)?vm[:/]/.test(kept[kept.length - 1])) {
    kept.pop();
  }
  return kept.join("\n");
}

function reportError(error) {
  let name = "Error";
  let value;
  let traceback = "";
  try {
    if (error instanceof Error) {
      name = String(error.name);
      value = String(error.message);
      traceback = withoutHarness(error.stack);
    } else {
      value = typeof error === "string" ? error : inspect(error, { depth: 2 });
    }
  } catch {
    value = "<its text could not be made>";
  }
  append("error", stringify({
    name: name.slice(0, 500),
    value: value.slice(0, VALUE_MAX),
    traceback: traceback.slice(0, TRACE_MAX),
  }));
}

function atExit(code) {
  if (!state.settled && state.drained && process.exitCode === undefined) {
    process.exitCode = 13;
    try {
      writeSync(2, `Warning: Detected unsettled top-level await at\n${programPath}\n`);
    } catch {
      // Standard error is the program's to close.
    }
  }
  try {
    if (state.fault && (process.exitCode ?? code) !== 0) reportError(state.fault.error);
    else reportResult();
  } catch (fault) {
    attempt(() => note(`a part of the result is missing: ${describe(fault)}`));
  }
  // Without a record there is no result; the exit code stands.
  attempt(() => append("end", "{}"));
}

// ---- how the program is compiled

const source = fs.readFileSync(programPath, "utf8").replace(/^\uFEFF/, "");
const directory = pathModule.dirname(programPath);
const parameters = ["exports", "require", "module", "__filename", "__dirname"];
const dynamicImport = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((specifier) => load(specifier));
const load = new vm.Script("(specifier, options) => import(specifier, options)", {
  filename: programPath,
  importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER
    ?? ((specifier) => import(resolveFallback(specifier))),
}).runInThisContext();

function resolveFallback(specifier) {
  if (/^\.{0,2}\//.test(specifier)) return new URL(specifier, pathToFileURL(programPath)).href;
  if (/^[a-z]+:/.test(specifier)) return specifier;
  const found = createRequire(programPath).resolve(specifier);
  return pathModule.isAbsolute(found) ? pathToFileURL(found).href : found;
}

function attempt(compile) {
  try {
    return { value: compile() };
  } catch (error) {
    return { error };
  }
}

// Node warns once of each experimental part; a program that did not ask for one is not told.
function silently(action) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return action();
  } finally {
    process.emitWarning = emitWarning;
  }
}

const reader = (name) => `() => typeof ${name} === "undefined" ? undefined : ${name}`;
const readBack = (callee) =>
  `\n;try { ${callee}(${reader("result")}, ${reader("results")}) } catch {}`;

function compileCommonJs() {
  const options = { filename: programPath, importModuleDynamically: dynamicImport };
  const plain = attempt(() => vm.compileFunction(source, parameters, options));
  if (plain.error) return plain;
  const whole = source + readBack("arguments[5]");
  const extended = attempt(() => vm.compileFunction(whole, parameters, options));
  return extended.error ? plain : extended;
}

// `await (x)` outside an async function is a call of something named await for CommonJS; nobody
// means that. In a static block the word is reserved, in functions inside it it is not. What a static
// block does not take for another reason is judged by its look.
function meansAwait() {
  if (!/\bawait\b/.test(source)) return false;
  const text = source.replace(/^#!/, "//");
  const { error } = attempt(() => new vm.Script(`(class { static {${text}\n} })`));
  if (error === undefined) return false;
  return /reserved word/.test(error.message) || /(^|[=;{}(,:?]\s*)await\s*\(/m.test(source);
}

function compileAsync(text) {
  const AsyncFunction = (async () => {}).constructor;
  const body = text.replace(/^#!/, "//");
  const alone = attempt(() => new AsyncFunction(...parameters, body));
  if (alone.error) return alone;
  const head = `(async function (${parameters.join(", ")}) {\n`;
  const options = {
    filename: programPath,
    lineOffset: -1,
    importModuleDynamically: dynamicImport,
  };
  return attempt(() =>
    new vm.Script(`${head}${body}${readBack("arguments[5]")}\n})`, options).runInThisContext());
}

function compileModule() {
  if (!vm.SourceTextModule) return { error: new SyntaxError("ES modules need a newer node") };
  const url = pathToFileURL(programPath).href;
  const options = {
    identifier: url,
    initializeImportMeta(meta) {
      meta.url = url;
      meta.filename = programPath;
      meta.dirname = directory;
      meta.resolve = (specifier) => resolveFallback(specifier);
    },
    importModuleDynamically: (specifier, _, attributes) => load(specifier, { with: attributes }),
  };
  const text = source.replace(/^#!/, "//");
  const plain = attempt(() => silently(() => new vm.SourceTextModule(text, options)));
  if (plain.error) return plain;
  for (const names of [["result", "results"], ["result"], ["results"]]) {
    const exported = names.map((name) => `${name} as "berth:${name}"`).join(", ");
    const whole = `${text}\n;export { ${exported} }`;
    const extended = attempt(() => new vm.SourceTextModule(whole, options));
    if (!extended.error) return extended;
  }
  return plain;
}

// Static imports at the top level as awaited dynamic ones, on the same lines. Only for a program that
// uses `return` beside `import`, which no grammar allows.
function withoutStaticImports(text) {
  const clause = /^([ \t]*)import\b\s*(?:([^"'`;()]*?)\s*\bfrom\s*)?(["'])([^"'\n]+)\3[ \t]*(;?)/gm;
  return text.replace(clause, (whole, indent, names, quote, specifier, end) => {
    const lines = "\n".repeat((whole.match(/\n/g) ?? []).length);
    const call = `await import(${quote}${specifier}${quote})`;
    if (!names) return `${indent}${call}${end || ";"}${lines}`;
    const parts = [];
    const braces = /\{([^}]*)\}/.exec(names);
    const star = /\*\s*as\s+([\w$]+)/.exec(names);
    const plainName = /^\s*([\w$]+)\s*(?:,|$)/.exec(names);
    if (plainName) parts.push(`default: ${plainName[1]}`);
    if (braces) parts.push(braces[1].replace(/\s+/g, " ").replace(/([\w$]+) as /g, "$1: "));
    if (star && parts.length) return `${indent}const ${star[1]} = ${call}, {${parts}} = ${star[1]};${lines}`;
    if (star) return `${indent}const ${star[1]} = ${call};${lines}`;
    return `${indent}const {${parts}} = ${call};${lines}`;
  });
}

// Node says where a module does not compile only as it ends by it. The same lines as the body of a
// strict async function, without what only modules have, fail at the same place and say so at once.
// What fails otherwise is of no use.
function located(error) {
  const blank = (text) => text.replace(/[^\n]/g, " ");
  const text = withoutStaticImports(source)
    .replace(/^[ \t]*export\b[ \t]*(\*[^;"'\n]*|\{[^}]*\}\s*)from\s*(["'])[^"'\n]*\2/gm, blank)
    .replace(/^[ \t]*export[ \t]+(default[ \t]+)?/gm, blank);
  const head = `"use strict";(async function (${parameters.join(", ")}) {\n`;
  const options = { filename: programPath, lineOffset: -1 };
  const other = attempt(() => new vm.Script(`${head}${text.replace(/^#!/, "//")}\n})`, options)).error;
  const same = other?.message === error?.message || /^await is only valid/.test(other?.message);
  const place = /^.*:(\d+)\n(.*)\n.*\n/.exec(other?.stack ?? "");
  if (!same || !place) return error;
  const own = source.split("\n")[place[1] - 1];
  if (own !== place[2]) {
    // An import on this line was changed above: the program's own text, without a mark below it.
    other.stack = `${programPath}:${place[1]}\n${own}\n${other.stack.slice(place[0].length)}`;
  }
  return other;
}

function choose() {
  const extension = pathModule.extname(programPath);
  const common = extension === ".mjs" ? { error: undefined } : compileCommonJs();
  if (common.value && (extension === ".cjs" || !meansAwait())) return ["common", common.value];
  if (extension === ".cjs") return ["fault", common.error];
  const module = compileModule();
  if (module.value) return ["module", module.value];
  for (const text of [source, withoutStaticImports(source)]) {
    const body = compileAsync(text);
    if (body.value) return ["async", body.value];
  }
  const isModule = /^\s*(import|export)\b/m.test(source) || /await/.test(common.error?.message ?? "await");
  return ["fault", isModule ? located(module.error) : common.error];
}

// ---- how it is run

function showSyntaxError(error) {
  state.fault = { error };
  writeSync(2, `${withoutHarness(error.stack)}\n\nNode.js ${process.version}\n`);
  process.exit(1);
}

function programModule() {
  const module = new Module(programPath, null);
  module.id = ".";
  module.filename = programPath;
  module.paths = Module._nodeModulePaths(directory);
  process.mainModule = module;
  Module._cache[programPath] = module;
  const require = createRequire(programPath);
  return [module.exports, require, module, programPath, directory];
}

function readers(result, results) {
  state.readers = [["result", result], ["results", results]];
}

function keep(promise) {
  state.settled = false;
  // The derived promise is left to fail unhandled, so that node reports it as it reports any.
  promise.then((value) => {
    state.settled = true;
    state.returned = value;
  });
  promise.catch(() => { state.settled = true; });
}

// Whether the program's own top level has a `return`: only as a function body does it compile.
function returns() {
  const text = source.replace(/^#!/, "//");
  return attempt(() => new vm.Script(text)).error !== undefined;
}

// The program is called by node's own queue, so that no frame of this file is below it in any stack
// and what it throws takes node's own way. A value it returns is caught by Array.from, which leaves
// its mark on the object that its constructor made.
function runCommon(program, values) {
  const bound = program.bind(values[0], ...values, readers);
  const caught = {};
  const Catcher = function () { return caught; };
  process.nextTick(returns() ? Array.from.bind(Catcher, { length: 1 }, bound) : bound);
  process.nextTick(() => {
    values[2].loaded = true;
    const value = caught[0];
    if (typeof value?.then === "function") keep(Promise.resolve(value));
    else state.returned = value;
  });
}

function runModule(module) {
  let last = Promise.resolve();
  const linked = module.link((specifier, _, extra) => {
    const attributes = extra?.attributes ?? extra?.assert;
    last = last.then(async () => {
      const space = await load(specifier, { with: attributes });
      return new vm.SyntheticModule(Object.keys(space), function () {
        for (const name of Object.keys(space)) this.setExport(name, space[name]);
      }, { identifier: specifier });
    });
    return last;
  });
  readers(
    () => module.namespace["berth:result"] ?? globalThis.result,
    () => module.namespace["berth:results"] ?? globalThis.results);
  keep(linked.then(module.evaluate.bind(module)));
}

function defineGlobals(values) {
  const named = Object.fromEntries(parameters.map((name, i) => [name, values[i]]));
  for (const [name, value] of Object.entries({ ...named, result: undefined, results: undefined })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}

// Pipes are written at once, so that a program that ends itself loses nothing.
function writeAtOnce() {
  for (const name of ["stdout", "stderr"]) {
    const { get } = Object.getOwnPropertyDescriptor(process, name);
    let blocking = false;
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      get() {
        const stream = get.call(process);
        if (!blocking) {
          blocking = true;
          stream?._handle?.setBlocking?.(true);
        }
        return stream;
      },
    });
  }
}

function main() {
  process.argv = [process.argv[0], programPath, ...programArguments];
  process.execArgv = process.execArgv.filter((flag) => flag !== "--experimental-vm-modules");
  process.on("exit", atExit);
  process.on("beforeExit", () => { state.drained = true; });
  process.on("uncaughtExceptionMonitor", (error) => { state.fault = { error }; });
  writeAtOnce();
  keepRoom();
  if (/\bimport\b/.test(source)) silently(() => load("node:path"));
  const [kind, program] = choose();
  if (kind === "fault") {
    showSyntaxError(program);
    return undefined;
  }
  const values = programModule();
  if (kind === "common") return runCommon(program, values);
  if (kind === "module") {
    defineGlobals(values);
    return runModule(program);
  }
  return keep(Promise.resolve().then(program.bind(undefined, ...values, readers)));
}

main();
