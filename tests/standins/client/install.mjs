// Installs the services' own clients from npm by the lock file beside package.json, into the folder it is run in.
// Exit 77, with the reason as the last line, where npm's registry is out of reach; whatever else fails is 1.
import { spawnSync } from "node:child_process";

const away = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EIDLETIMEOUT)\b|network/;
const npm = spawnSync(process.argv[2], ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"],
  { encoding: "utf8" });
console.log(npm.stdout);
console.log(npm.stderr);
if (npm.status === 0) process.exit(0);
const reason = away.exec(npm.stderr);
if (reason === null) process.exit(1);
console.log(`npm's registry is out of reach (${reason[0]}), and the services' own clients come from there`);
process.exit(77);
