#include "core/conformance/programs.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::conformance {
namespace {

constexpr char kBeating[] =
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "with open('kit-pulse', 'a') as f: f.write('x')\n"
    "print('begun', flush=True)\n"
    "while True:\n"
    "    with open('kit-pulse', 'a') as f: f.write('x')\n"
    "    time.sleep(0.02)\n";

Result<std::string> beats(Lab& lab, const std::string& ref) {
  BERTH_TRY(const Lab::Ran ran,
            lab.python(ref, "import os\n"
                            "print(sum(os.path.getsize(f) for f in ('kit-beat', 'kit-pulse') if os.path.exists(f)))"));
  return ran.out;
}

}  // namespace

Command python_command(std::string program, std::vector<std::string> arguments) {
  Command command;
  command.argv = {"python3", "-c", std::move(program)};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

Result<plugin::OpId> begin_beating(Lab& lab, const std::string& ref, Treatment treatment, Duration timeout) {
  Command command = python_command(kBeating);
  command.timeout = timeout;
  const plugin::OpId op =
      lab.begin(plugin::Slot::kRun, plugin::RunCall{ref, std::move(command)}, std::move(treatment));
  const bool begun = lab.bench().wait_until(lab.patience(), [&] {
    const Record record = lab.bench().record(op);
    return record.complete || record.size_of(Stream::kStdout) > 0;
  });
  if (!begun) return violated("a program that prints at once printed nothing");
  return op;
}

Status beats_no_more(Lab& lab, const std::string& ref, std::string_view after) {
  BERTH_TRY(const std::string first, beats(lab, ref));
  lab.bench().wait_until(std::chrono::milliseconds(150), [] { return false; });
  BERTH_TRY(const std::string second, beats(lab, ref));
  if (first != second) return violated(fmt::format("a program goes on {}", after));
  return {};
}

std::string shown(const RunEnd& end) {
  std::string text = fmt::format("cause {}", to_string(end.cause));
  if (end.exit_code) text += fmt::format(", exit code {}", *end.exit_code);
  if (end.signal) text += fmt::format(", signal {}", *end.signal);
  return text;
}

Status exited_well(const Lab::Ran& ran) {
  if (!ran.outcome.done()) return violated(describe("run", ran.outcome));
  if (ran.end.cause != Cause::kExited || ran.end.exit_code != 0)
    return violated(fmt::format("the program ended with {}; it wrote to standard error: {}", shown(ran.end),
                                ran.err.substr(0, 400)));
  return {};
}

Lab::Ran ran_of(Record record) {
  Lab::Ran ran;
  ran.outcome = record.reply.outcome;
  if (const auto* end = std::get_if<RunEnd>(&record.reply.value)) ran.end = *end;
  ran.out = record.bytes_of(Stream::kStdout);
  ran.err = record.bytes_of(Stream::kStderr);
  ran.record = std::move(record);
  return ran;
}

Status same_bytes(std::string_view got, std::string_view expected, std::string_view what) {
  if (got == expected) return {};
  const auto [at, unused] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  static_cast<void>(unused);
  return violated(fmt::format("{}: {} bytes arrived of {}, and the first that differs is number {}", what,
                              got.size(), expected.size(), at - got.begin()));
}

}  // namespace berth::conformance
