// Judges manifests by the published JSON Schema.
//
// usage: judge.mjs MODULES SCHEMA GOOD_FOLDER BAD_FOLDER MANIFEST...
//
// MODULES is a folder with node_modules. Every file of GOOD_FOLDER and every MANIFEST must be valid, every
// file of BAD_FOLDER must not. Exit 0 when all are judged so, 1 otherwise. The configuration schema inside
// each manifest must itself be a valid schema.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, schemaPath, good, bad, ...manifests] = process.argv.slice(2);
const Ajv2020 = createRequire(join(modules, "package.json"))("ajv/dist/2020").default;

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const filesIn = (folder) => readdirSync(folder).filter((name) => name.endsWith(".json")).sort().map((name) => join(folder, name));

const validate = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true }).compile(read(schemaPath));

const wrong = new Set();
const complain = (path, why) => {
  wrong.add(path);
  console.log(`${path}: ${why}`);
};

const judgeGood = (path) => {
  const manifest = read(path);
  if (!validate(manifest)) complain(path, validate.errors.map((e) => `${e.instancePath} ${e.message}`).join("; "));
  if (manifest.configSchema !== undefined) {
    try {
      new Ajv2020({ strict: true }).compile(manifest.configSchema);
    } catch (error) {
      complain(path, `configSchema: ${error.message}`);
    }
  }
};

const goodFiles = [...filesIn(good), ...manifests];
const badFiles = filesIn(bad);
goodFiles.forEach(judgeGood);
badFiles.forEach((path) => {
  if (validate(read(path))) complain(path, "is valid, but must not be");
});
if (goodFiles.length === 0 || badFiles.length === 0) complain("the corpus", "is empty");
console.log(`${goodFiles.length} good, ${badFiles.length} bad, ${wrong.size} judged wrongly`);
process.exit(wrong.size === 0 ? 0 : 1);
