// The parser and the published schema judge alike, and every fault has its place and its remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/registry/lifetime_step.h"
#include "core/registry/manifest.h"

namespace berth::registry {
namespace {

using testing::HasSubstr;

std::vector<std::filesystem::path> documents(const char* folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(BERTH_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".json" && entry.path().stem().extension() != ".schema")
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string text_of(const std::filesystem::path& file) { return os::read_file(file, 1 << 20).value(); }

std::string sentences(const Findings& findings) {
  std::string out;
  for (const Finding& finding : findings) out += to_sentence(finding) + "\n";
  return out;
}

// The least a manifest may say, changed by a test.
std::string changed(const std::function<void(boost::json::object&)>& change) {
  auto document = parse_json(text_of(std::filesystem::path(BERTH_SOURCE_DIR) / "tests/manifests/good/minimal.json"));
  change(document->as_object());
  return to_json_text(*document);
}

TEST(Manifest, EveryGoodDocumentIsUnderstoodWithoutAFinding) {
  const auto files = documents("tests/manifests/good");
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    Findings findings;
    EXPECT_TRUE(parse_manifest(text_of(file), findings).has_value()) << file << sentences(findings);
    EXPECT_TRUE(findings.empty()) << file << sentences(findings);
  }
}

TEST(Manifest, EveryBadDocumentHasAFindingThatCitesAClause) {
  const auto files = documents("tests/manifests/bad");
  ASSERT_GT(files.size(), 50u);
  for (const auto& file : files) {
    Findings findings;
    parse_manifest(text_of(file), findings);
    EXPECT_FALSE(findings.empty()) << file;
    for (const Finding& finding : findings) {
      EXPECT_FALSE(finding.clause.empty()) << file;
      EXPECT_FALSE(finding.found.empty()) << file;
      EXPECT_FALSE(finding.remedy.empty()) << file;
    }
  }
}

TEST(Manifest, TheManifestsOfTheTreeAreGood) {
  for (const auto& file : documents("manifests")) {
    Findings findings;
    const auto manifest = parse_manifest(text_of(file), findings);
    ASSERT_TRUE(manifest.has_value()) << file << sentences(findings);
    EXPECT_EQ(manifest->id, file.stem().string());
  }
}

TEST(Manifest, EverythingIsReadIntoItsPlace) {
  Findings findings;
  const auto manifest = parse_manifest(
      text_of(std::filesystem::path(BERTH_SOURCE_DIR) / "tests/manifests/good/everything.json"), findings);
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->id, "full-1");
  EXPECT_EQ(manifest->recovery, Recovery::kManual);
  EXPECT_EQ(manifest->streams, Streams::kCombined);
  EXPECT_EQ(manifest->concurrency_per_provider, 64u);
  EXPECT_EQ(lifetime_step(*manifest), std::chrono::seconds(60));
  EXPECT_EQ(manifest->capabilities[0].limits.at("watch"), boost::json::value(true));
  EXPECT_THAT(manifest->declared_variables(),
              testing::ElementsAre("EXAMPLE_API_KEY", "EXAMPLE_CLIENT_ID", "EXAMPLE_CLIENT_SECRET",
                                   "EXAMPLE_ENDPOINT", "EXAMPLE_REGION"));
  EXPECT_EQ(manifest->needs.devices, std::vector<std::string>{"/dev/kvm"});
}

TEST(Manifest, UnknownFieldsAreKeptAndShownAndRefuseNothing) {
  Findings findings;
  const auto manifest =
      parse_manifest(changed([](auto& document) { document["colour"] = "blue"; }), findings);
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->unknown.at("colour"), boost::json::value("blue"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_THAT(findings[0].found, HasSubstr("manifest.colour"));
}

TEST(Manifest, EveryFaultIsToldNotOnlyTheFirst) {
  Findings findings;
  EXPECT_FALSE(parse_manifest(changed([](auto& document) {
                                document["id"] = "Not An Id";
                                document["version"] = "1";
                                document["recovery"] = "perhaps";
                                document.erase("title");
                              }),
                              findings));
  EXPECT_EQ(findings.size(), 4u) << sentences(findings);
}

TEST(Manifest, AnotherKindIsRefusedByNameAndNothingElseIsJudged) {
  Findings findings;
  EXPECT_FALSE(parse_manifest(R"({"kind":"database","id":7})", findings));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "META-007");
  EXPECT_THAT(findings[0].claimed, HasSubstr("\"database\""));
}

TEST(Manifest, WhatVersionOneRequiresIsRequired) {
  const std::map<std::string, boost::json::value> wrong{
      {"languages", boost::json::array{"python", "ruby"}}, {"cancellation", "ask"}, {"cleanup", "hope"}};
  for (const auto& [field, value] : wrong) {
    Findings findings;
    EXPECT_FALSE(parse_manifest(
        changed([&, key = field, bad = value](auto& document) { document[key] = bad; }), findings));
    ASSERT_EQ(findings.size(), 1u) << field << sentences(findings);
    EXPECT_EQ(findings[0].clause, "META-008") << field;
  }
}

TEST(Manifest, ACapabilityNeedsItsExtensionInTheManifest) {
  Findings findings;
  EXPECT_FALSE(parse_manifest(
      changed([](auto& document) { document["capabilities"] = boost::json::array{{{"id", "ports"}}}; }), findings));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].clause, "META-004");
  EXPECT_THAT(findings[0].remedy, HasSubstr("berth.ports/1"));
}

TEST(Manifest, DamagedTextIsRefusedWithItsPlace) {
  for (const char* text : {"", "{", "[]", "{\"id\":1,\"id\":2}", "\xff", "null"}) {
    Findings findings;
    EXPECT_FALSE(parse_manifest(text, findings)) << text;
    EXPECT_TRUE(refuses(findings)) << text;
  }
  Findings findings;
  EXPECT_FALSE(parse_manifest(std::string(kManifestBytesMax + 1, ' '), findings));
}

TEST(Manifest, RequirementsAreAllOfThemByOneOptionEach) {
  Findings findings;
  const auto manifest = parse_manifest(
      text_of(std::filesystem::path(BERTH_SOURCE_DIR) / "tests/manifests/good/everything.json"), findings);
  std::map<std::string, std::string> set;
  const auto variable = [&](const std::string& name) -> const char* {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(unmet_requirements(*manifest, variable).size(), 2u);
  set["EXAMPLE_REGION"] = "eu";
  set["EXAMPLE_CLIENT_ID"] = "half of the option";
  ASSERT_EQ(unmet_requirements(*manifest, variable).size(), 1u);
  EXPECT_EQ(unmet_requirements(*manifest, variable)[0],
            "set EXAMPLE_API_KEY, or EXAMPLE_CLIENT_ID and EXAMPLE_CLIENT_SECRET: An API key, or a "
            "client id with its secret.");
  set["EXAMPLE_CLIENT_SECRET"] = "";
  EXPECT_EQ(unmet_requirements(*manifest, variable).size(), 1u);  // an empty variable is not set
  set["EXAMPLE_CLIENT_SECRET"] = " \t\n";
  EXPECT_EQ(unmet_requirements(*manifest, variable).size(), 1u);  // nor is a blank one
  set["EXAMPLE_CLIENT_SECRET"] = "the other half";
  EXPECT_TRUE(unmet_requirements(*manifest, variable).empty());
}

}  // namespace
}  // namespace berth::registry
