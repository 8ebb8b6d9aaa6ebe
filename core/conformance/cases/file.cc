// FILE: one whole file in or out.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "core/conformance/programs.h"

namespace berth::conformance {
namespace {

std::string random_bytes(Lab& lab, std::size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(lab.random()());
  return out;
}

PutFile put(std::string path, std::size_t size, std::uint32_t mode = 0644) {
  return {std::move(path), mode, size};
}

Status puts(Lab& lab, const std::string& ref, const PutFile& file, const std::string& bytes) {
  const Answer<Nothing> answer = lab.put_file(ref, file, bytes);
  if (!answer.outcome.done()) return violated(describe("put_file", answer.outcome));
  return {};
}

Status holds(Lab& lab, const std::string& ref, const PutFile& file, const std::string& bytes) {
  const Lab::Got got = lab.get_file(ref, {file.path, std::uint64_t{1} << 24});
  if (!got.outcome.done()) return violated(describe("get_file", got.outcome));
  BERTH_CHECK_OK(same_bytes(got.bytes, bytes, "a file that was put and got"));
  if ((got.got.mode & 0777) != file.mode)
    return violated(fmt::format("a file put with mode {:o} has mode {:o}", file.mode, got.got.mode & 0777));
  return {};
}

bool is_missing(const Lab::Got& got) {
  return got.outcome.outcome_class == OutcomeClass::kRejected && got.outcome.code == OutcomeCode::kNotFound;
}

// Begins a put_file that promises more than comes, and lets the input end or cancels it.
Status cut_short(Lab& lab, const std::string& ref, const std::string& path, std::string bytes, bool cancel) {
  Treatment treatment;
  treatment.input = bytes;
  treatment.input_ends = !cancel;
  const plugin::OpId op = lab.begin(plugin::Slot::kPutFile,
                                    plugin::PutFileCall{ref, put(path, bytes.size() + 2000)}, std::move(treatment));
  if (cancel) {
    lab.bench().wait_until(std::chrono::milliseconds(50), [] { return false; });
    lab.bench().cancel(op);
  }
  if (!lab.bench().wait(op, lab.patience())) return violated("a put_file that was cut short was not completed");
  if (lab.bench().record(op).reply.outcome.done())
    return violated("a put_file that was cut short is DONE");
  return {};
}

Status whole_or_nothing(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const PutFile first = put("/tmp/kit/one", 200'001, 0640);
  const std::string bytes = random_bytes(lab, 200'001);
  BERTH_CHECK_OK(puts(lab, made.ref, first, bytes));
  BERTH_CHECK_OK(holds(lab, made.ref, first, bytes));
  const PutFile second = put(first.path, 17, 0755);
  const std::string fewer = random_bytes(lab, 17);
  BERTH_CHECK_OK(puts(lab, made.ref, second, fewer));
  BERTH_CHECK_OK(holds(lab, made.ref, second, fewer));
  for (const bool cancel : {false, true}) {
    BERTH_CHECK_OK(cut_short(lab, made.ref, first.path, random_bytes(lab, 100'000), cancel));
    BERTH_CHECK_OK(holds(lab, made.ref, second, fewer));
    BERTH_CHECK_OK(cut_short(lab, made.ref, "/tmp/kit/two", random_bytes(lab, 100'000), cancel));
    const Lab::Got got = lab.get_file(made.ref, {"/tmp/kit/two", 1 << 20});
    if (!is_missing(got))
      return violated(describe("get_file of a file whose put_file was cut short", got.outcome));
  }
  return lab.gone(made.name);
}

Status missing_and_larger_are_refused(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const Lab::Got missing = lab.get_file(made.ref, {"/tmp/kit/none", 1 << 20});
  if (!is_missing(missing)) return violated(describe("get_file of a file that is not there", missing.outcome));
  const std::string bytes = random_bytes(lab, 100'000);
  BERTH_CHECK_OK(puts(lab, made.ref, put("/tmp/kit/large", bytes.size()), bytes));
  const Lab::Got larger = lab.get_file(made.ref, {"/tmp/kit/large", 99'999});
  if (larger.outcome.outcome_class != OutcomeClass::kRejected || larger.outcome.code != OutcomeCode::kQuota)
    return violated(describe("get_file of a file one byte larger than asked for", larger.outcome));
  if (!larger.bytes.empty()) return violated("a file that is larger than asked for was sent in part");
  const Lab::Got just = lab.get_file(made.ref, {"/tmp/kit/large", 100'000});
  if (!just.outcome.done()) return violated(describe("get_file of a file as large as asked for", just.outcome));
  const Lab::Got folder = lab.get_file(made.ref, {"/tmp/kit", 1 << 20});
  if (folder.outcome.done()) return violated("get_file of a folder is DONE");
  return lab.gone(made.name);
}

// What a program leaves for its host to follow. A provider on another machine has nothing there.
Status no_link_leads_out(Lab& lab) {
  const std::filesystem::path outside = lab.subject().request.folder / "outside";
  constexpr char kSecret[] = "what no sandbox may read";
  std::ofstream(outside) << kSecret;
  BERTH_TRY(const Created made, lab.sandbox());
  BERTH_TRY(const Lab::Ran ran,
            lab.python(made.ref, fmt::format("import os\n"
                                             "there = '{}'\n"
                                             "os.symlink(there, 'kit-1')\n"
                                             "os.symlink('../' * 30 + there[1:], 'kit-2')\n"
                                             "os.symlink('/proc/self/root' + there, 'kit-3')\n"
                                             "os.symlink('/proc/1/root' + there, 'kit-4')\n"
                                             "os.symlink(os.path.dirname(there), 'kit-folder')\n"
                                             "os.mkfifo('kit-fifo')\n"
                                             "print(os.getcwd(), end='')\n",
                                             outside.string())));
  if (ran.out.empty() || ran.out.front() != '/') return violated("the program did not make its links: " + ran.err);
  for (const char* path : {"/kit-1", "/kit-2", "/kit-3", "/kit-4", "/kit-folder/outside"}) {
    const Lab::Got got = lab.get_file(made.ref, {ran.out + path, 1 << 20});
    if (got.bytes.find(kSecret) != std::string::npos)
      return violated(fmt::format("get_file followed the link {} out of the sandbox", path));
  }
  const Lab::Got fifo = lab.get_file(made.ref, {ran.out + "/kit-fifo", 1 << 20});
  if (fifo.outcome.done() || fifo.outcome.code == OutcomeCode::kHostDeadline)
    return violated(describe("get_file of a FIFO", fifo.outcome));
  return lab.gone(made.name);
}

Status parents_are_made(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  const PutFile file = put("/tmp/kit/a/b c/d/e/file", 5);
  BERTH_CHECK_OK(puts(lab, made.ref, file, "deep\n"));
  BERTH_CHECK_OK(holds(lab, made.ref, file, "deep\n"));
  return lab.gone(made.name);
}

Status size_is_what_was_sent(Lab& lab) {
  BERTH_TRY(const Created made, lab.sandbox());
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 300'000u}) {
    const std::string bytes = random_bytes(lab, size);
    const PutFile file = put("/tmp/kit/sized", size);
    BERTH_CHECK_OK(puts(lab, made.ref, file, bytes));
    const Lab::Got got = lab.get_file(made.ref, {file.path, 1 << 20});
    if (!got.outcome.done()) return violated(describe(fmt::format("get_file of {} bytes", size), got.outcome));
    BERTH_CHECK_OK(same_bytes(got.bytes, bytes, fmt::format("a file of {} bytes", size)));
    if (got.got.size_bytes != size)
      return violated(fmt::format("a file of {} bytes was told to have {}", size, got.got.size_bytes));
  }
  return lab.gone(made.name);
}

constexpr Case kFileCases[] = {
    {"FILE-001", "a-file-is-put-whole-or-not", "FILE-001", Profile::kFull, Start::kOpen,
     "Puts files and gets them back with their modes, then cuts puts short and looks for pieces",
     &whole_or_nothing},
    {"FILE-002", "missing-and-larger-are-refused", "FILE-002", Profile::kFull, Start::kOpen,
     "Gets a file that is not there, one that is a byte too large, and a folder",
     &missing_and_larger_are_refused},
    {"FILE-101", "no-link-leads-out", "FILE-002", Profile::kFull, Start::kOpen,
     "Gets links that a program made to a file outside of its sandbox, and a FIFO", &no_link_leads_out},
    {"FILE-003", "parents-are-made", "FILE-003", Profile::kFull, Start::kOpen,
     "Puts a file four folders below anything that is there", &parents_are_made},
    {"FILE-004", "the-size-is-what-was-sent", "FILE-004", Profile::kFull, Start::kOpen,
     "Puts and gets files of sizes around the largest piece of output, and compares sizes and bytes",
     &size_is_what_was_sent},
};

}  // namespace

CaseList file_cases() { return kFileCases; }

}  // namespace berth::conformance
