// RUN and LANG: programs, their ends, and what is said of both.
#include <fmt/format.h>

#include <algorithm>

#include "core/conformance/programs.h"

namespace berth::conformance {
namespace {


Command command(std::vector<std::string> argv) {
  Command out;
  out.argv = std::move(argv);
  return out;
}

// The program ended by itself with 0 and wrote exactly this.
Status wrote(const Lab::Ran& ran, std::string_view expected) {
  BERTH_CHECK_OK(exited_well(ran));
  if (ran.out != expected)
    return violated(fmt::format("the program should have written \"{}\" and wrote \"{}\"", expected,
                                ran.out.substr(0, 400)));
  return {};
}

// Arguments that a shell would take apart, a name looked up in PATH, and variables over the sandbox's.
Status runs_argv_as_it_is(Lab& lab) {
  CreateSpec spec = Lab::plain_spec();
  spec.env = {{"KIT_KEPT", "sandbox"}, {"KIT_CHANGED", "sandbox"}};
  BERTH_TRY(const Created made, lab.made(lab.new_name(), std::move(spec)));
  const std::vector<std::string> odd{"a b", "$HOME", "*", "x;y", "\"q\"", "it's", "", "\\n", "`id`", "gr\xC3\xBC\xC3\x9F" "e"};
  std::string expected;
  for (const std::string& argument : odd) expected += argument + "\n";
  expected += "sandbox\ncommand\n";
  Command run = python_command(
      "import os, sys\n"
      "for a in sys.argv[1:] + [os.environ['KIT_KEPT'], os.environ['KIT_CHANGED']]:\n"
      "    sys.stdout.buffer.write(os.fsencode(a) + b'\\n')\n",
      odd);
  run.env = {{"KIT_CHANGED", "command"}};
  BERTH_CHECK_OK(wrote(lab.run(made.ref, std::move(run)), expected));
  return lab.gone(made.name);
}

// Values that a shell, a list of lines or a list of words would change, in a folder that is not the usual one.
Status keeps_values_and_folder(Lab& lab) {
  const Environment of_sandbox{{"KIT_QUOTES", "it's \"quoted\" \\ `id` $(id) ${HOME} $HOME %s *"},
                               {"KIT_LINES", " two\nlines\tand blanks  "},
                               {"KIT_SIGNS", "a=b;c&d|e>f #g"},
                               {"KIT_EMPTY", ""},
                               {"KIT_WORD", "gr\xC3\xBC\xC3\x9F" "e"}};
  CreateSpec spec = Lab::plain_spec();
  spec.env = of_sandbox;
  BERTH_TRY(const Created made, lab.made(lab.new_name(), std::move(spec)));
  BERTH_TRY(const Lab::Ran place, lab.python(made.ref, "import os\n"
                                                  "os.mkdir('kit folder')\n"
                                                  "print(os.path.realpath('kit folder'), end='')\n"));
  if (place.out.empty() || place.out.front() != '/') return violated("the program did not make its folder: " + place.err);
  std::string expected = place.out + "\n";
  std::vector<std::string> names;
  for (const auto& [name, value] : of_sandbox) {
    names.push_back(name);
    expected += value + "\n";
  }
  Command run = python_command("import os, sys\n"
                               "for a in [os.getcwd()] + [os.environ[n] for n in sys.argv[1:]]:\n"
                               "    sys.stdout.buffer.write(os.fsencode(a) + b'\\n')\n",
                               names);
  run.cwd = place.out;
  BERTH_CHECK_OK(wrote(lab.run(made.ref, run), expected));
  // The same, said to the command and over others of the sandbox.
  CreateSpec other = Lab::plain_spec();
  for (const auto& [name, value] : of_sandbox) other.env.emplace_back(name, "of the sandbox");
  BERTH_TRY(const Created second, lab.made(lab.new_name(), std::move(other)));
  run.cwd.clear();
  run.env = of_sandbox;
  run.argv[2] = "import os, sys\n"
                "for a in [os.environ[n] for n in sys.argv[1:]]:\n"
                "    sys.stdout.buffer.write(os.fsencode(a) + b'\\n')\n";
  BERTH_CHECK_OK(wrote(lab.run(second.ref, run), expected.substr(place.out.size() + 1)));
  BERTH_CHECK_OK(lab.gone(second.name));
  return lab.gone(made.name);
}

Status exit_code_is_data(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  for (const int code : {0, 1, 3, 137, 255}) {
    const Lab::Ran ran = lab.run(made.ref, python_command(fmt::format("import sys; sys.exit({})", code)));
    if (!ran.outcome.done())
      return violated(describe(fmt::format("a program that exits with {}", code), ran.outcome));
    if (ran.end.cause != Cause::kExited || ran.end.exit_code != code)
      return violated(fmt::format("a program exited with {} and {} was reported", code, shown(ran.end)));
  }
  return lab.gone(made.name);
}

Status cause_is_evidence(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const Lab::Ran killed = lab.run(made.ref, python_command("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"));
  if (!killed.outcome.done()) return violated(describe("a program that a signal ends", killed.outcome));
  if (killed.end.cause != Cause::kSignalled || killed.end.signal != 9 || killed.end.exit_code)
    return violated(fmt::format("signal 9 ended the program and {} was reported", shown(killed.end)));
  const Lab::Ran aborted = lab.run(made.ref, python_command("import os; os.abort()"));
  if (!aborted.outcome.done()) return violated(describe("a program that aborts", aborted.outcome));
  if (aborted.end.cause != Cause::kSignalled || aborted.end.signal != 6)
    return violated(fmt::format("signal 6 ended the program and {} was reported", shown(aborted.end)));
  return lab.gone(made.name);
}

// The sandbox ends under the program, so nobody sees how the program would have ended.
Status unseen_end_is_no_exit(Lab& lab) {
  CreateSpec spec = Lab::plain_spec();
  spec.lifetime = std::chrono::seconds(2);
  BERTH_TRY(const Created made, lab.made(lab.new_name(), spec));
  BERTH_TRY(const plugin::OpId op, begin_beating(lab, made.ref, {}, std::chrono::seconds(6)));
  if (!lab.bench().wait(op, std::chrono::seconds(6) + lab.patience()))
    return violated("a run in a sandbox that has ended is not completed");
  const Lab::Ran ran = ran_of(lab.bench().record(op));
  if (ran.outcome.done() && ran.end.cause == Cause::kExited)
    return violated(fmt::format("a program that never exits ended with its sandbox, and {} was reported",
                                shown(ran.end)));
  return lab.gone(made.name);
}

// A clock of the sandbox's own: a file a background child keeps touching.
constexpr char kBackground[] =
    "import os, sys, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() != 0: os._exit(0)\n"
    "    for fd in (0, 1, 2): os.close(fd)\n"
    "    while True:\n"
    "        with open('kit-beat', 'a') as f: f.write('x')\n"
    "        time.sleep(0.02)\n"
    "while not os.path.exists('kit-beat'): time.sleep(0.005)\n";

Status timeout_ends_everything(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Command run = python_command(std::string(kBackground) + "time.sleep(600)\n");
  run.timeout = std::chrono::milliseconds(700);
  const Lab::Ran ran = lab.run(made.ref, std::move(run));
  if (!ran.outcome.done()) return violated(describe("a command past its timeout", ran.outcome));
  if (ran.end.cause != Cause::kWall)
    return violated(fmt::format("a command past its timeout was reported with {}", shown(ran.end)));
  BERTH_CHECK_OK(beats_no_more(lab, made.ref, "after the timeout of its command"));
  return lab.gone(made.name);
}

Status end_ends_children(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(wrote(lab.run(made.ref, python_command(kBackground)), ""));
  BERTH_CHECK_OK(beats_no_more(lab, made.ref, "after the end of the main program"));
  return lab.gone(made.name);
}

Status counts_what_was_produced(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Command run = python_command(
      "import sys\n"
      "sys.stdout.buffer.write(b'o' * 300000); sys.stderr.buffer.write(b'e' * 2000)\n");
  run.stdout_cap_bytes = 1000;
  run.stderr_cap_bytes = 1000;
  const Lab::Ran ran = lab.run(made.ref, std::move(run));
  if (!ran.outcome.done()) return violated(describe("run", ran.outcome));
  if (ran.end.stdout_bytes != 300'000 || ran.end.stderr_bytes != 2'000)
    return violated(fmt::format("the program wrote 300000 and 2000 bytes, and {} and {} were counted",
                                ran.end.stdout_bytes, ran.end.stderr_bytes));
  return lab.gone(made.name);
}

// What a program does that must not get past the limit, and how one sees that it did.
struct LimitTrial {
  const char* name;
  Limits limits;
  const char* program;
};

Status limit_is_kept_or_refused(Lab& lab, const LimitTrial& trial) {
  const std::string name = lab.new_name();
  CreateSpec spec = Lab::plain_spec();
  spec.limits = trial.limits;
  const Answer<Created> created = lab.create(name, spec);
  const bool refused = created.outcome.outcome_class == OutcomeClass::kRejected;
  if (refused && created.outcome.code == OutcomeCode::kUnsupported) {
    lab.forget(name);
    return {};
  }
  if (!created.outcome.done())
    return violated(describe(fmt::format("create with a limit of {}", trial.name), created.outcome));
  Command run = python_command(trial.program);
  run.timeout = std::chrono::seconds(8);
  const Lab::Ran ran = lab.run(created.value.ref, std::move(run));
  if (!ran.outcome.done()) return violated(describe("run", ran.outcome));
  if (ran.out.find("past the limit") != std::string::npos)
    return violated(fmt::format("a limit of {} was accepted, and a program got past it", trial.name));
  return lab.gone(name);
}

Status limits_are_kept_or_refused(Lab& lab) {
  Limits memory;
  memory.memory_bytes = std::uint64_t{64} << 20;
  Limits file_size;
  file_size.file_size_bytes = 100'000;
  Limits processes;
  processes.processes = 8;
  Limits disk;
  disk.disk_bytes = std::uint64_t{4} << 20;
  const LimitTrial trials[] = {
      {"memory", memory,
       "b = bytearray(200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nprint('past the limit')"},
      {"file size", file_size,
       "f = open('kit-big', 'wb', 0)\nfor _ in range(20): f.write(b'x' * 10000)\n"
       "import os\nprint('past the limit' if os.path.getsize('kit-big') > 100000 else 'kept')"},
      {"processes", processes,
       "import os, time\nmade = 0\nfor _ in range(16):\n    try:\n        p = os.fork()\n"
       "    except OSError: break\n    if p == 0:\n        time.sleep(5); os._exit(0)\n    made += 1\n"
       "print('past the limit' if made >= 16 else 'kept')"},
      {"disk", disk,
       "f = open('kit-full', 'wb', 0)\nn = 0\ntry:\n    for _ in range(16): n += f.write(b'x' * (1 << 20))\n"
       "except OSError: pass\nprint('past the limit' if n >= 16 << 20 else 'kept')"},
  };
  for (const LimitTrial& trial : trials) BERTH_CHECK_OK(limit_is_kept_or_refused(lab, trial));
  return {};
}

Status runs_python(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_CHECK_OK(wrote(lab.run(made.ref, python_command("import hashlib, json\n"
                                                "print(json.dumps({'n': sum(range(10)), 'h': "
                                                "hashlib.sha256(b'berth').hexdigest()[:8]}, "
                                                "sort_keys=True))")),
                       "{\"h\": \"5c2f64c7\", \"n\": 45}\n"));
  return lab.gone(made.name);
}

Status runs_javascript(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Command run = command({"node", "-e",
                         "const crypto = require('crypto');\n"
                         "const h = crypto.createHash('sha256').update('berth').digest('hex');\n"
                         "console.log(JSON.stringify({h: h.slice(0, 8), n: [1, 2, 3].map(x => x * x)}));"});
  BERTH_CHECK_OK(wrote(lab.run(made.ref, std::move(run)), "{\"h\":\"5c2f64c7\",\"n\":[1,4,9]}\n"));
  return lab.gone(made.name);
}

constexpr Case kRunCases[] = {
    {"RUN-001", "argv-is-run-as-it-is", "RUN-001", Profile::kFull, Start::kOpen,
     "Runs a program found in PATH with arguments a shell would take apart, and a variable over the sandbox's",
     &runs_argv_as_it_is},
    {"RUN-102", "values-and-folder-are-kept", "RUN-001", Profile::kFull, Start::kOpen,
     "Runs programs with variables that a shell would change, and in a folder of their own, and reads both there",
     &keeps_values_and_folder},
    {"RUN-002", "an-exit-code-is-data", "RUN-002", Profile::kFull, Start::kOpen,
     "Runs programs that exit with 0, 1, 3, 137 and 255, and expects DONE with that code", &exit_code_is_data},
    {"RUN-003", "the-cause-is-evidence", "RUN-003", Profile::kFull, Start::kOpen,
     "Runs programs that signals end, and expects cause and signal and no exit code", &cause_is_evidence},
    {"RUN-101", "an-unseen-end-is-no-exit", "RUN-003", Profile::kFull, Start::kOpen,
     "Lets a sandbox's lifetime end while a program runs in it, and expects no exit to be made up",
     &unseen_end_is_no_exit},
    {"RUN-004", "a-timeout-ends-everything", "RUN-004", Profile::kFull, Start::kOpen,
     "Lets a command run past its timeout with a daemon it has started, and expects the end of both",
     &timeout_ends_everything},
    {"RUN-005", "nothing-outlives-the-main-program", "RUN-005", Profile::kFull, Start::kOpen,
     "Runs a program that leaves a daemon behind, and expects the daemon's end", &end_ends_children},
    {"RUN-006", "all-bytes-are-counted", "RUN-006", Profile::kFull, Start::kOpen,
     "Runs a program that writes more than is kept of both streams, and expects the whole counts",
     &counts_what_was_produced},
    {"RUN-007", "a-limit-is-kept-or-refused", "RUN-007", Profile::kFull, Start::kOpen,
     "Asks for limits of memory, file size, processes and disk; each is refused as unsupported or kept",
     &limits_are_kept_or_refused},
    {"LANG-001", "python-is-there", "LANG-001", Profile::kFull, Start::kOpen,
     "Runs a Python program that uses the standard library", &runs_python},
    {"LANG-002", "javascript-is-there", "LANG-002", Profile::kFull, Start::kOpen,
     "Runs a Node.js program that uses its standard library", &runs_javascript},
};

}  // namespace

CaseList program_cases() { return kRunCases; }

}  // namespace berth::conformance
