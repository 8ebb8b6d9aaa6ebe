// STRM: bytes, in order and at the reader's pace.
#include <fmt/format.h>

#include "core/conformance/programs.h"

namespace berth::conformance {
namespace {


std::string numbered_lines(int count, std::string_view end = "\n") {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{:07}{}", i, end);
  return out;
}

bool is_combined(const Lab& lab) { return lab.manifest().streams == Streams::kCombined; }

Status streams_are_those_of_the_slot(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran ran, lab.python(made.ref, "import sys; print('out'); print('err', file=sys.stderr)"));
  if (ran.out.size() + ran.err.size() != 8)
    return violated(fmt::format("a program wrote 8 bytes, and {} arrived", ran.out.size() + ran.err.size()));
  const Answer<Nothing> put = lab.put_file(made.ref, {"/tmp/kit/file", 0644, 5}, "file\n");
  if (!put.outcome.done()) return violated(describe("put_file", put.outcome));
  const Lab::Got got = lab.get_file(made.ref, {"/tmp/kit/file", 4096});
  if (got.bytes != "file\n") return violated(describe("get_file of what was put", got.outcome));
  static_cast<void>(lab.get_file(made.ref, {"/tmp/kit/none", 4096}));
  return lab.gone(made.name);
}

Status input_is_taken(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const std::string input = numbered_lines(40'000);
  Treatment treatment;
  treatment.input = input;
  treatment.input_piece_bytes = 10'007;
  const std::string program = "import sys\nb = sys.stdin.buffer.read()\nprint(len(b), b[-8:-1].decode())\n";
  const Lab::Ran ran = lab.run(made.ref, python_command(program), std::move(treatment));
  BERTH_CHECK_OK(exited_well(ran));
  if (ran.out != fmt::format("{} 0039999\n", input.size()))
    return violated(fmt::format("a program was given {} bytes and read \"{}\"", input.size(), ran.out.substr(0, 100)));
  const Lab::Ran empty = lab.run(made.ref, python_command("import sys\nprint(len(sys.stdin.buffer.read()))\n"));
  BERTH_CHECK_OK(exited_well(empty));
  if (empty.out != "0\n") return violated("a program without input read \"" + empty.out.substr(0, 100) + "\"");
  return lab.gone(made.name);
}

Status streams_arrive_apart(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran ran, lab.python(made.ref,
                                      "import os\n"
                                      "for i in range(1000):\n"
                                      "    os.write(1, b'%07d\\n' % i)\n"
                                      "    os.write(2, b'%07d!' % i)\n"));
  std::string out = numbered_lines(1000);
  std::string err = numbered_lines(1000, "!");
  if (is_combined(lab)) {
    out.clear();
    for (int i = 0; i < 1000; ++i) out += fmt::format("{:07}\n{:07}!", i, i);
    err.clear();
  }
  BERTH_CHECK_OK(same_bytes(ran.out, out, "standard output"));
  BERTH_CHECK_OK(same_bytes(ran.err, err, "standard error"));
  return lab.gone(made.name);
}

Status nothing_is_lost_repeated_or_moved(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran ran, lab.python(made.ref,
                                      "import sys\n"
                                      "for i in range(400000): sys.stdout.write('%07d\\n' % i)\n"));
  BERTH_CHECK_OK(exited_well(ran));
  BERTH_CHECK_OK(same_bytes(ran.out, numbered_lines(400'000), "3 MB of numbered lines"));
  return lab.gone(made.name);
}

// Characters of one to four bytes, so that wherever a piece ends some end in the middle of one; and bytes
// that are no text at all.
Status characters_are_not_cut(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  std::string expected;
  for (int i = 0; i < 120'000; ++i) expected += "a\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\x9F";
  for (int i = 0; i < 256; ++i) expected += static_cast<char>(i);
  BERTH_TRY(const Lab::Ran ran, lab.python(made.ref,
                                      "import sys\n"
                                      "o = sys.stdout.buffer\n"
                                      "o.write('a\\u20ac\\U0001f600\\u00df'.encode() * 120000)\n"
                                      "o.write(bytes(range(256)))\n"));
  BERTH_CHECK_OK(exited_well(ran));
  BERTH_CHECK_OK(same_bytes(ran.out, expected, "1.2 MB of characters of several bytes"));
  return lab.gone(made.name);
}

// Lets the output come, a piece at a time, until the operation is over.
Status let_come(Lab& lab, plugin::OpId op) {
  constexpr int kGrantsMax = 4000;
  for (int i = 0; i < kGrantsMax && !lab.bench().complete(op); ++i) {
    lab.bench().grant(op, plugin::kTransferBytesMax);
    lab.bench().wait_until(std::chrono::milliseconds(2), [&] { return lab.bench().complete(op); });
  }
  if (!lab.bench().wait(op, lab.patience())) return violated("a run whose output may continue does not");
  return {};
}

Status fills_the_window(Lab& lab, plugin::OpId op) {
  const bool full = lab.bench().wait_until(lab.patience(), [&] {
    const Record record = lab.bench().record(op);
    return record.complete || record.size_of(Stream::kStdout) >= plugin::kOutputWindowBytes;
  });
  if (!full || lab.bench().complete(op))
    return violated("a program writes more than is read, and what may be under way is never reached");
  // Whoever goes on writing now is seen by the host. [STRM-004]
  lab.bench().wait_until(std::chrono::milliseconds(200), [] { return false; });
  return {};
}

Status pause_is_kept(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Treatment treatment;
  treatment.reads = false;
  const std::string program = "import sys\nfor i in range(200000): sys.stdout.write('%07d\\n' % i)\n";
  const plugin::OpId op = lab.begin(plugin::Slot::kRun, plugin::RunCall{made.ref, python_command(program)}, treatment);
  BERTH_CHECK_OK(fills_the_window(lab, op));
  BERTH_CHECK_OK(let_come(lab, op));
  const Lab::Ran ran = ran_of(lab.bench().record(op));
  BERTH_CHECK_OK(exited_well(ran));
  BERTH_CHECK_OK(same_bytes(ran.out, numbered_lines(200'000), "output that was paused"));
  return lab.gone(made.name);
}

Status limit_is_kept(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  Command command = python_command(
      "import sys\n"
      "for i in range(80): sys.stdout.write('x' * 65536)\n"
      "sys.stdout.flush(); sys.stderr.write('end')\n");
  command.stdout_cap_bytes = 1000;
  const Lab::Ran ran = lab.run(made.ref, std::move(command));
  BERTH_CHECK_OK(exited_well(ran));
  if (ran.out.size() != 1000)
    return violated(fmt::format("of 5 MB 1000 bytes were asked for, and {} arrived", ran.out.size()));
  if (!is_combined(lab) && ran.err != "end")
    return violated("the other stream of a program whose output is limited did not arrive");
  return lab.gone(made.name);
}

// An echo: while its output is paused there is input, and while there is none its output may go on.
Status one_descriptor_one_meaning(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const std::string input = numbered_lines(130'000);
  Treatment treatment;
  treatment.reads = false;
  treatment.input = input;
  treatment.deadline = 3 * lab.patience();
  const std::string program =
      "import sys\n"
      "while True:\n"
      "    b = sys.stdin.buffer.read1(65536)\n"
      "    if not b: break\n"
      "    sys.stdout.buffer.write(b); sys.stdout.buffer.flush()\n";
  const plugin::OpId op =
      lab.begin(plugin::Slot::kRun, plugin::RunCall{made.ref, python_command(program)}, std::move(treatment));
  BERTH_CHECK_OK(fills_the_window(lab, op));
  BERTH_CHECK_OK(let_come(lab, op));
  const Lab::Ran ran = ran_of(lab.bench().record(op));
  BERTH_CHECK_OK(exited_well(ran));
  BERTH_CHECK_OK(same_bytes(ran.out, input, "what a program echoes"));
  return lab.gone(made.name);
}

constexpr Case kStrmCases[] = {
    {"STRM-001", "streams-are-those-of-the-slot", "STRM-001", Profile::kFull, Start::kOpen,
     "Runs a program that writes to both streams, gets a file, and gets one that is not there",
     &streams_are_those_of_the_slot},
    {"STRM-002", "input-is-taken", "STRM-002", Profile::kFull, Start::kOpen,
     "Gives a program 320 kB in odd pieces, and another one nothing", &input_is_taken},
    {"STRM-003", "streams-arrive-apart-and-in-order", "STRM-003", Profile::kFull, Start::kOpen,
     "Runs a program that writes to both streams in turns; where streams are combined, expects the turns",
     &streams_arrive_apart},
    {"STRM-101", "nothing-is-lost-repeated-or-moved", "STRM-003", Profile::kFull, Start::kOpen,
     "Runs a program that writes 400000 numbered lines, and compares every byte",
     &nothing_is_lost_repeated_or_moved},
    {"STRM-102", "characters-are-not-cut", "STRM-003", Profile::kFull, Start::kOpen,
     "Runs a program that writes characters of several bytes across every border, and all byte values",
     &characters_are_not_cut},
    {"STRM-004", "a-pause-is-kept", "STRM-004", Profile::kFull, Start::kOpen,
     "Reads nothing of a program's 1.6 MB until it is paused, then reads piece by piece", &pause_is_kept},
    {"STRM-005", "a-limit-is-kept", "STRM-005", Profile::kFull, Start::kOpen,
     "Asks for 1000 bytes of a program's 5 MB, and expects its end, the bytes and the other stream",
     &limit_is_kept},
    {"STRM-006", "one-descriptor-one-meaning", "STRM-006", Profile::kFull, Start::kOpen,
     "Lets a program echo 1 MB whose output is paused while input waits, then reads piece by piece",
     &one_descriptor_one_meaning},
};

}  // namespace

CaseList strm_cases() { return kStrmCases; }

}  // namespace berth::conformance
