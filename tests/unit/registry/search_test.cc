// Which file is found for an id, and what the catalogue says of every other one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "core/registry/catalogue.h"
#include "core/registry/search.h"

namespace berth::registry {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Search : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("berth-search-{}", ::getpid());
    fs::create_directories(root_ / "first");
    fs::create_directories(root_ / "second");
    path_.folders = {root_ / "first", root_ / "second"};
  }
  void TearDown() override {
    fs::remove_all(root_);
    ::unsetenv("BERTH_PROVIDER_PATH");
  }
  void put(const char* plugin, const fs::path& place) {
    fs::copy_file(fs::path(BERTH_TEST_PLUGINS) / plugin, root_ / place);
  }

  fs::path root_;
  SearchPath path_;
};

TEST_F(Search, TheFirstFolderWinsAndTheOtherFileIsListedAsShadowed) {
  put("good.so", "first/good.so");
  put("good.so", "second/renamed.so");
  EXPECT_EQ(find_by_id(path_, "good").value(), root_ / "first/good.so");
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  ASSERT_EQ(catalogue.entries.size(), 2u);
  EXPECT_EQ(catalogue.entries[0].standing, Standing::kUsable);
  EXPECT_EQ(catalogue.entries[1].standing, Standing::kShadowed);
}

TEST_F(Search, TheNameOfAFileIsNotItsIdentity) {
  put("good.so", "first/whatever.so");
  EXPECT_EQ(find_by_id(path_, "good").value(), root_ / "first/whatever.so");
  EXPECT_FALSE(find_by_id(path_, "whatever").has_value());
}

TEST_F(Search, ABadFileStopsTheSearchForItsId) {
  std::ofstream(root_ / "first/good.so") << "not a provider";
  put("good.so", "second/good.so");
  EXPECT_EQ(find_by_id(path_, "good").value(), root_ / "first/good.so");
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  EXPECT_EQ(catalogue.entries[0].standing, Standing::kRefused);
  EXPECT_EQ(catalogue.entries[1].standing, Standing::kShadowed);
}

TEST_F(Search, BackupsVersionsAndHiddenFilesAreNoProvidersAndTheListSaysSo) {
  put("good.so", "first/good.so.1.2");
  fs::create_symlink("good.so.1.2", root_ / "first/good.so.1");
  put("good.so", "first/good.so.bak");
  put("good.so", "first/.hidden.so");
  put("good.so", "first/good.so~");
  std::ofstream(root_ / "first/notes.txt") << "notes";
  EXPECT_FALSE(find_by_id(path_, "good").has_value());
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  EXPECT_TRUE(catalogue.entries.empty());
  ASSERT_EQ(catalogue.skipped.size(), 5u);
  EXPECT_THAT(catalogue.skipped[0], HasSubstr(".hidden.so is hidden"));
  EXPECT_THAT(catalogue.skipped[1], HasSubstr("good.so.1 is not named *.so"));
  EXPECT_THAT(to_json_text(to_json(catalogue)), HasSubstr("\"skipped\":["));
}

TEST_F(Search, OneFileUnderSeveralNamesIsOneProvider) {
  put("good.so", "first/good.so");
  fs::create_symlink("good.so", root_ / "first/link.so");
  fs::create_directory_symlink(root_ / "first", root_ / "again");
  path_.folders.push_back(root_ / "again");
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  ASSERT_EQ(catalogue.entries.size(), 1u);
  EXPECT_THAT(catalogue.skipped.at(0), HasSubstr("link.so is the same file as"));
  ::setenv("BERTH_PROVIDER_PATH", fmt::format("{0}/first:{0}/again", root_.string()).c_str(), 1);
  EXPECT_EQ(default_search_path().folders.size(), 1u);
}

TEST_F(Search, WhatIsNoFileIsListedOnceWithAReason) {
  put("good.so", "first/good.so");
  std::ofstream(root_ / "first/text.so") << "0123456789";
  std::ofstream(root_ / "first/empty.so").flush();
  fs::create_directory(root_ / "first/folder.so");
  fs::create_symlink("nowhere", root_ / "first/dangling.so");
  fs::create_symlink("loop.so", root_ / "first/loop.so");
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  ASSERT_EQ(catalogue.entries.size(), 6u);
  for (const CatalogueEntry& entry : catalogue.entries) {
    const bool good = entry.inspection.path.filename() == "good.so";
    EXPECT_EQ(entry.standing, good ? Standing::kUsable : Standing::kRefused) << entry.inspection.path;
    // A sanitizer adds code that runs at load, which is worth a warning.
    EXPECT_EQ(refuses(entry.findings), !good) << entry.inspection.path;
  }
}

TEST_F(Search, AFolderOfThousandsOfFilesIsReadToABoundAndTheRestIsSaid) {
  for (int i = 0; i < 1100; ++i) std::ofstream(root_ / fmt::format("first/p{:04}.so", i)) << "x";
  put("good.so", "first/zz.so");
  Quarantine quarantine{fs::path()};
  const Catalogue catalogue = list_providers(path_, {}, {}, quarantine);
  EXPECT_EQ(catalogue.entries.size(), 1024u);
  EXPECT_THAT(catalogue.skipped.at(0), HasSubstr("only the first 1024 of 1101 provider files"));
}

TEST_F(Search, NothingFoundNamesTheFoldersAndTheWayOut) {
  const auto missing = find_by_id(path_, "absent");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr("BERTH_PROVIDER_PATH"));
  EXPECT_THAT(missing.error().message(), HasSubstr((root_ / "second").string()));
}

TEST_F(Search, TheVariableReplacesTheListAndTheWorkingFolderIsNeverSearched) {
  ::setenv("BERTH_PROVIDER_PATH", fmt::format("{}:.:relative:", (root_ / "first").string()).c_str(), 1);
  const SearchPath path = default_search_path();
  EXPECT_EQ(path.folders, std::vector<fs::path>{root_ / "first"});
  EXPECT_EQ(path.ignored.size(), 2u);
  ::unsetenv("BERTH_PROVIDER_PATH");
  for (const auto& folder : default_search_path().folders) EXPECT_TRUE(folder.is_absolute());
}

TEST_F(Search, UnderRaisedPrivilegeAFileThatOthersMayWriteIsNotUsed) {
  put("good.so", "first/good.so");
  fs::permissions(root_ / "first/good.so", fs::perms::others_write, fs::perm_options::add);
  path_.privileged = true;
  EXPECT_FALSE(find_by_id(path_, "good").has_value());
  EXPECT_TRUE(find_all(path_).empty());
}

TEST_F(Search, TheCatalogueTellsRefusedDisabledAndQuarantinedApart) {
  put("good.so", "first/a.so");
  put("wrong_major.so", "first/b.so");
  put("faulty.so", "first/c.so");
  HostConfiguration configuration;
  configuration.providers["faulty"].enabled = false;
  Quarantine quarantine{fs::path()};
  const std::string digest = inspect(root_ / "first/a.so").digest;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(quarantine.record_crash(digest, "good", "it crashed", wall_time_from_unix_ms(1)));
  const Catalogue catalogue = list_providers(path_, configuration, {}, quarantine);
  ASSERT_EQ(catalogue.entries.size(), 3u);
  EXPECT_EQ(catalogue.entries[0].standing, Standing::kQuarantined);
  EXPECT_EQ(catalogue.entries[1].standing, Standing::kRefused);
  EXPECT_EQ(catalogue.entries[2].standing, Standing::kDisabled);
  const std::string text = to_json_text(to_json(catalogue));
  EXPECT_THAT(text, HasSubstr("\"standing\":\"quarantined\""));
  EXPECT_THAT(text, HasSubstr("\"clause\":\"NEG-001\""));
  EXPECT_THAT(text, HasSubstr("\"crashesAtLoad\":{\"count\":3"));
}

TEST(Inspection, TellsAllOfAGoodFileAndRunsNothing) {
  const Inspection inspection = inspect(fs::path(BERTH_TEST_PLUGINS) / "constructor_exits.so");
  ASSERT_TRUE(inspection.manifest.has_value());  // and this process still runs
  const Inspection good = inspect(fs::path(BERTH_TEST_PLUGINS) / "good.so");
  EXPECT_TRUE(good.loadable());
  EXPECT_EQ(good.digest.size(), 64u);
  EXPECT_EQ(good.elf->exports, std::vector<std::string>{"berth_provider_entry_v1"});
  EXPECT_TRUE(good.elf->bind_now);
  EXPECT_TRUE(good.elf->no_delete);
  EXPECT_EQ(good.abi_note->major, 1);
  EXPECT_THAT(to_json_text(to_json(good)), HasSubstr("\"loadable\":true"));
}

}  // namespace
}  // namespace berth::registry
