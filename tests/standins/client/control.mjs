// What a client's test asks of the stand-in, through the process that started both.
const waiting = new Map();
let last = 0;
process.on("message", ({ id, answer }) => {
  waiting.get(id)(answer);
  waiting.delete(id);
});

async function ask(command) {
  last += 1;
  const id = last;
  const answered = new Promise((resolve) => waiting.set(id, resolve));
  process.send({ id, command });
  const answer = await answered;
  if (answer.error) throw new Error(answer.error);
  return answer;
}

export const faults = (...list) => ask({ faults: list });
export const journal = async () => (await ask({ journal: true })).journal;
export const state = async () => (await ask({ state: true })).state;
export const machines = async () => (await ask({ machines: true })).machines;

// How often an endpoint was called since `since`, a length of the journal.
export const calls = async (endpoint, since = 0) =>
  (await journal()).slice(since).filter((entry) => entry.endpoint === endpoint).length;

// Steps one after the other; the first one that fails is told and ends the process.
export async function steps(list) {
  let done = 0;
  for (const [name, step] of Object.entries(list)) {
    try {
      await step();
      done += 1;
    } catch (error) {
      console.log(`failed after ${done} steps: ${name}\n  ${error.stack ?? error}`);
      process.exit(1);
    }
  }
  console.log(`${done} steps passed`);
  process.exit(0);
}
