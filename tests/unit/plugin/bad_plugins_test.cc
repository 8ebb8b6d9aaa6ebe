// Every bad plugin is refused with the clause it breaks and harms nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/registry/inspect.h"
#include "tests/unit/plugin/harness.h"

namespace berth::plugin {
namespace {

using registry::Hosting;
using testing::HasSubstr;

struct BadPlugin {
  const char* name;
  const char* clause;
  const char* found;  // part of the sentence
  bool before_running;  // inspection alone refuses it
};

std::ostream& operator<<(std::ostream& out, const BadPlugin& plugin) { return out << plugin.name; }

constexpr BadPlugin kBad[] = {
    {"missing_symbol", "LOAD-004", "no exported symbol berth_provider_entry_v1", true},
    {"wrong_major", "NEG-001", "claimed: built for ABI 2.0; found: a host of ABI 1.0", true},
    {"newer_minor", "NEG-002", "it needs ABI 1.9 or newer", true},
    {"other_kind", "META-007", "claimed: kind \"database\"; found: a host that loads kind \"sandbox\" only", true},
    {"truncated_note", "META-001", "more than its segment holds", true},
    {"oversized_note", "META-001", "a manifest note of 70", true},
    {"disagreeing_note", "META-002", "ABI 1.3 (at least 0) in the manifest; found: ABI 1.0", true},
    {"extra_exports", "LOAD-004", "1 exported symbol beside the entry: parse_json", true},
    {"text_relocations", "LOAD-003", "text relocations", true},
    {"executable_stack", "LOAD-003", "executable stack", true},
    {"entry_is_data", "LOAD-004", "the symbol berth_provider_entry_v1 is data", true},
    {"entry_is_ifunc", "LOAD-004", "chosen by code that runs while it is loaded", true},
    {"undefined_symbol", "LOAD-002", "the dynamic linker refuses it: undefined symbol: nowhere", false},
    {"constructor_stops", "LOAD-006", "past \"loading the library\": it did not return in time", false},
    {"constructor_closes", "LOAD-006", "it did not get past \"loading the library\"", false},
    {"constructor_forks", "LOAD-006", "exited with code 0", false},
    {"claim_without_table", "META-004", "extension berth.files/1; found: get_extension answers NULL", false},
    {"constructor_throws", "LOAD-006", "it did not get past \"loading the library\"", false},
    {"constructor_exits", "LOAD-006", "exited with code 0", false},
    {"entry_hangs", "LOAD-005", "past \"calling the entry\": it did not return in time", false},
    {"entry_crashes", "LOAD-005", "was ended by signal 6", false},
    {"entry_throws", "LOAD-005", "the entry threw an exception: thrown by the entry", false},
    {"entry_refuses", "LOAD-005", "refuses this host (7): this build works on tuesdays only", false},
    {"wrong_size", "NEG-005", "a provider table of 24 bytes", false},
    {"wrong_minor_chosen", "NEG-002", "chosen minor 44", false},
    {"reserved_not_zero", "NEG-005", "a reserved field of the reply", false},
    {"null_slots", "NEG-004", "an empty slot probe", false},
    {"fence_missing", "NEG-004", "recovery \"fence\"; found: an empty slot fence", false},
    {"table_on_heap", "NEG-006", "a provider table outside the provider's own library", false},
    {"slot_elsewhere", "NEG-006", "a slot probe that is not code of the provider's own library", false},
};

class BadPlugins : public testing::TestWithParam<BadPlugin> {};

TEST_P(BadPlugins, IsRefusedWithItsClauseAndHarmsNothing) {
  const BadPlugin& bad = GetParam();
  Harness harness;
  const Footprint before = footprint();
  LoadRequest request = harness.request(Harness::test_plugin(bad.name), Hosting::kWorker);
  const std::string_view name = bad.name;
  request.limits.load_deadline =
      std::chrono::seconds(name == "entry_hangs" || name == "constructor_stops" ? 4 : 20);
  testing::internal::CaptureStdout();
  {
    const auto loaded = harness.load(request);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_THAT(loaded.error().message(), HasSubstr(fmt::format("[{}]", bad.clause)));
    EXPECT_THAT(loaded.error().message(), HasSubstr(bad.found));
    EXPECT_THAT(loaded.error().message(), HasSubstr("to do: "));
    EXPECT_EQ(loaded.error().kind(), ErrorKind::kRefused);
  }
  const auto inspection = registry::inspect(Harness::test_plugin(bad.name));
  EXPECT_EQ(!inspection.loadable(), bad.before_running);
  {
    auto good = harness.load(harness.request(Harness::test_plugin("good"), Hosting::kWorker));
    ASSERT_TRUE(good.has_value()) << good.error().message();
    EXPECT_TRUE((*good)->probe_report().usable);
    harness.close(**good);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(footprint(), before);
}

INSTANTIATE_TEST_SUITE_P(Each, BadPlugins, testing::ValuesIn(kBad),
                         [](const auto& plugin) { return std::string(plugin.param.name); });

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::size_t end_of_segments(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::size_t end = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

class OddFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("berth-odd-{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& bytes) {
    const auto file = folder_ / "odd.so";
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  void expect_refused(const std::filesystem::path& file, const char* clause, const char* found) {
    Harness harness;
    const auto loaded = harness.load(harness.request(file, Hosting::kWorker));
    ASSERT_FALSE(loaded.has_value());
    EXPECT_THAT(loaded.error().message(), HasSubstr(fmt::format("[{}]", clause)));
    EXPECT_THAT(loaded.error().message(), HasSubstr(found));
    auto good = harness.load(harness.request(Harness::test_plugin("good"), Hosting::kWorker));
    ASSERT_TRUE(good.has_value()) << good.error().message();
    harness.close(**good);
  }

  std::filesystem::path folder_;
};

TEST_F(OddFiles, AFileThatIsNotElfIsRefused) {
  expect_refused(write("#!/bin/sh\necho hello\n"), "LOAD-002", "does not begin with the ELF magic");
}

TEST_F(OddFiles, AFolderIsRefused) { expect_refused(folder_, "LOAD-001", "a folder, not a regular file"); }

TEST_F(OddFiles, ADanglingLinkIsRefused) {
  const auto link = folder_ / "link.so";
  std::filesystem::create_symlink(folder_ / "nowhere.so", link);
  expect_refused(link, "LOAD-001", "No such file or directory");
}

TEST_F(OddFiles, AnEmptyFileIsRefused) { expect_refused(write(""), "LOAD-001", "an empty file"); }

TEST_F(OddFiles, AFifoIsRefusedWithoutWaitingForAWriter) {
  const auto fifo = folder_ / "fifo.so";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refused(fifo, "LOAD-001", "a special file");
}

TEST_F(OddFiles, AFileForAnotherMachineIsRefused) {
  std::string bytes = bytes_of(Harness::test_plugin("good"));
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_PPC64);
  bytes[offsetof(Elf64_Ehdr, e_machine) + 1] = 0;
  expect_refused(write(bytes), "LOAD-002", "code for ppc64");
}

TEST_F(OddFiles, A32BitFileIsRefused) {
  std::string bytes = bytes_of(Harness::test_plugin("good"));
  bytes[EI_CLASS] = ELFCLASS32;
  expect_refused(write(bytes), "LOAD-002", "not a 64-bit ELF file");
}

// The program header at `index` of those of a type, to be changed in place.
Elf64_Phdr* header_of(std::string& bytes, std::uint32_t type, std::size_t index = 0) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  auto* all = reinterpret_cast<Elf64_Phdr*>(bytes.data() + header.e_phoff);
  for (std::size_t i = 0; i < header.e_phnum; ++i)
    if (all[i].p_type == type && index-- == 0) return &all[i];
  return nullptr;
}

std::string refusal_of(const std::string& bytes) {
  return registry::refusal("it", registry::inspect_bytes("odd.so", bytes).findings).message();
}

TEST_F(OddFiles, SegmentsThatTheDynamicLinkerWouldReadDifferentlyAreRefused) {
  const std::string good = bytes_of(Harness::test_plugin("good"));
  std::string bytes = good;
  header_of(bytes, PT_LOAD, 1)->p_vaddr = header_of(bytes, PT_LOAD, 0)->p_vaddr;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("[LOAD-002]"));
  bytes = good;
  header_of(bytes, PT_LOAD, 0)->p_memsz += std::uint64_t{1} << 24;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("overlap or are out of order"));
  bytes = good;
  header_of(bytes, PT_NOTE)->p_type = PT_DYNAMIC;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("more than one dynamic section"));
  bytes = good;
  header_of(bytes, PT_LOAD, 0)->p_memsz = 1;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("larger in the file than in memory"));
  bytes = good;
  header_of(bytes, PT_LOAD, 3)->p_memsz = std::uint64_t{1} << 60;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("bytes of memory"));
  bytes = good;
  header_of(bytes, PT_LOAD, 1)->p_align = 12288;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("not aligned as it says"));
}

TEST_F(OddFiles, ALibraryThatIsNeededByAPathIsRefused) {
  // "libc.so.6" as "lib/so.6": the name is as long, and the string table stays whole.
  std::string bytes = bytes_of(Harness::test_plugin("constructor_exits"));
  const std::size_t at = bytes.find("libc.so.6");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 3] = '/';
  EXPECT_THAT(refusal_of(bytes), HasSubstr("[LOAD-003] found: a needed library named by a path"));
}

TEST_F(OddFiles, ALinkThatLeadsToItselfIsRefused) {
  const auto link = folder_ / "loop.so";
  std::filesystem::create_symlink(link, link);
  expect_refused(link, "LOAD-001", "symbolic links");
}

TEST_F(OddFiles, AFileThatIsReplacedAfterItWasTakenIsLoadedAsItWas) {
  const auto file = folder_ / "good.so";
  std::filesystem::copy_file(Harness::test_plugin("good"), file);
  Harness harness;
  LoadRequest request = harness.request(file, Hosting::kWorker);
  request.on_progress = [&](std::string_view step) {
    if (step == "starting its worker") write("replaced"), std::filesystem::rename(folder_ / "odd.so", file);
  };
  auto loaded = harness.load(request);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(bytes_of(file), "replaced");
  harness.close(**loaded);
}

TEST_F(OddFiles, AFileThatIsCutShortIsRefusedWhereverItIsCut) {
  const std::string bytes = bytes_of(Harness::test_plugin("good"));
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    const auto inspection = registry::inspect_bytes("cut.so", std::string_view(bytes).substr(0, size));
    // Only what lies beyond the last loadable segment, the section headers, is of no use to a loader.
    EXPECT_EQ(inspection.loadable(), size >= end_of_segments(bytes)) << size;
  }
}

TEST(BadPlugins, APluginThatPrintsWhileItIsLoadedCannotReachTheHostsOutput) {
  Harness harness;
  testing::internal::CaptureStdout();
  auto loaded = harness.load(harness.request(Harness::test_plugin("constructor_prints"), Hosting::kWorker));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_TRUE(harness.logged("the provider printed: hello from a constructor"));
  std::string warnings;
  for (const auto& finding : (*loaded)->warnings()) warnings += to_sentence(finding) + "\n";
  EXPECT_THAT(warnings, HasSubstr("[LOAD-005] found: it prints while it is loaded"));
  EXPECT_THAT(warnings, HasSubstr("[LOAD-006]"));
  harness.close(**loaded);
}

TEST(BadPlugins, AllFindingsOfAFileAreToldNotOnlyTheFirst) {
  const auto inspection = registry::inspect(Harness::test_plugin("text_relocations"));
  std::string all;
  for (const auto& finding : inspection.findings) all += to_sentence(finding) + "\n";
  EXPECT_THAT(all, HasSubstr("LOAD-003"));
  const auto newer = registry::inspect(Harness::test_plugin("newer_minor"));
  EXPECT_TRUE(newer.manifest.has_value());
  EXPECT_THAT(registry::refusal("x", newer.findings).message(), HasSubstr("NEG-002"));
}

TEST(Quarantine, AFileThatCrashesAtLoadThreeTimesIsNotLoadedAgainAndIsListed) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("berth-quarantine-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const char* plugin : {"entry_crashes", "open_crashes"}) {
    Harness harness;
    registry::Quarantine quarantine(folder / "quarantine.json");
    LoadRequest request = harness.request(Harness::test_plugin(plugin), Hosting::kWorker);
    request.quarantine = &quarantine;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(harness.load(request).has_value());
    const auto refused = harness.load(request);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message(), HasSubstr("[TRUST-003]"));
    EXPECT_THAT(refused.error().message(), HasSubstr("crashed 3 times"));
    // Another process of this user sees the same, until an operator lifts it.
    registry::Quarantine other(folder / "quarantine.json");
    const std::string digest = registry::inspect(Harness::test_plugin(plugin)).digest;
    ASSERT_TRUE(other.find(digest).has_value());
    EXPECT_TRUE(other.find(digest)->quarantined);
    ASSERT_TRUE(other.lift(digest).has_value());
    const auto again = harness.load(request);
    ASSERT_FALSE(again.has_value());
    EXPECT_THAT(again.error().message(), testing::Not(HasSubstr("TRUST-003")));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::plugin
