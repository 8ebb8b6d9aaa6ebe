// Judges documents by a published schema.
//
// usage: documents.mjs MODULES SCHEMAS NAME < DOCUMENTS
//
// MODULES is a folder with node_modules, SCHEMAS one with *.schema.json files, NAME the one of them to judge by.
// Standard input has one document a line, at least one. Exit 0 when all are valid, 1 otherwise; what is wrong is printed.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [modules, folder, name] = process.argv.slice(2);
const Ajv2020 = createRequire(join(modules, "package.json"))("ajv/dist/2020").default;
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
const ids = new Map();
for (const file of readdirSync(folder).filter((one) => one.endsWith(".schema.json"))) {
  const schema = JSON.parse(readFileSync(join(folder, file), "utf8"));
  ajv.addSchema(schema);
  ids.set(file, schema.$id);
}
const validate = ajv.getSchema(ids.get(`${name}.schema.json`));

const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
let wrong = lines.length === 0 ? 1 : 0;
lines.forEach((line, index) => {
  if (validate(JSON.parse(line))) return;
  wrong += 1;
  console.log(`document ${index}: ${ajv.errorsText(validate.errors)}\n  ${line.slice(0, 300)}`);
});
console.log(`${lines.length} documents, ${wrong} wrong`);
process.exit(wrong === 0 ? 0 : 1);
