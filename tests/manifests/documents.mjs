// Judges documents by the published schemas, for as long as it is asked.
//
// usage: documents.mjs MODULES SCHEMAS
//
// MODULES is a folder with node_modules, SCHEMAS one with *.schema.json files. A line of standard input asks:
// {"schema": NAME, "documents": [...]}. A line of standard output answers: a list of what is wrong, empty when there
// are documents and all are valid.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [modules, folder] = process.argv.slice(2);
const Ajv2020 = createRequire(join(modules, "package.json"))("ajv/dist/2020").default;
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
const ids = new Map();
for (const file of readdirSync(folder).filter((one) => one.endsWith(".schema.json"))) {
  const schema = JSON.parse(readFileSync(join(folder, file), "utf8"));
  ajv.addSchema(schema);
  ids.set(file, schema.$id);
}

function wrongOf({ schema, documents }) {
  const validate = ajv.getSchema(ids.get(`${schema}.schema.json`));
  const wrong = documents.length === 0 ? ["no document"] : [];
  documents.forEach((document, index) => {
    if (validate(document)) return;
    wrong.push(`document ${index}: ${ajv.errorsText(validate.errors)}\n  ${JSON.stringify(document).slice(0, 300)}`);
  });
  return wrong;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(wrongOf(JSON.parse(line)))}\n`);
}
