// Makes the page that charts are written into: one file, with the library and the script that draws inside it.
//
// usage: make_page.mjs TEMPLATE SCRIPT LIBRARY OUTPUT
//
// {{title}} and {{chart}} stay in it, once each, for whoever saves a chart. The page allows only these two
// scripts, by their hashes, and no connection to anywhere.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [templatePath, scriptPath, libraryPath, output] = process.argv.slice(2);
const read = (path) => readFileSync(path, "utf8").replaceAll("\r\n", "\n");

const inlined = (path) => {
  const text = read(path);
  if (/<\/script|<!--/i.test(text)) throw new Error(`${path} cannot stand inside a page: it would end its script`);
  if (text.includes("{{")) throw new Error(`${path} cannot stand inside a page: it has a mark of the template in it`);
  return text;
};

const library = inlined(libraryPath);
const script = inlined(scriptPath);
const hashes = [library, script].map((text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`).join(" ");
const put = (page, mark, text) => {
  if (page.split(mark).length !== 2) throw new Error(`${templatePath} must have ${mark} once`);
  return page.replace(mark, () => text);
};

let page = read(templatePath);
for (const [mark, text] of [["{{script-hashes}}", hashes], ["{{library}}", library], ["{{page}}", script]]) page = put(page, mark, text);
for (const mark of ["{{title}}", "{{chart}}"]) put(page, mark, "");
writeFileSync(output, page);
