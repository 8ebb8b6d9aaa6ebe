#include "core/registry/clauses.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth::registry {
namespace {

TEST(ClausesTest, EveryClauseSaysWhatItAsksWhyAndWhatToDo) {
  std::set<std::string> ids;
  for (const Clause& clause : clauses()) {
    EXPECT_TRUE(ids.insert(clause.id).second) << clause.id;
    EXPECT_FALSE(clause.text.empty()) << clause.id;
    EXPECT_FALSE(clause.why.empty()) << clause.id;
    EXPECT_FALSE(clause.enforced_by.empty()) << clause.id;
    EXPECT_FALSE(clause.remedy.empty()) << clause.id;
  }
  EXPECT_GT(ids.size(), 100u);
}

TEST(ClausesTest, EveryClauseTheLoaderRefusesWithIsExplained) {
  for (const char* cited :
       {clause::kNotes, clause::kNotesAgree, clause::kManifest, clause::kClaimsBacked,
        clause::kUnclaimed, clause::kProbeClaimed, clause::kKind, clause::kRequired, clause::kFile,
        clause::kElf, clause::kHardening, clause::kExports, clause::kEntry, clause::kLoadTimeCode,
        clause::kDigest, clause::kSignature, clause::kQuarantine, clause::kMajor, clause::kMinor,
        clause::kHostExtensions, clause::kTable, clause::kReply, clause::kPointers}) {
    const Clause* found = find_clause(cited);
    ASSERT_NE(found, nullptr) << cited;
    const std::string text = explain(*found);
    EXPECT_TRUE(text.starts_with(cited)) << text;
    EXPECT_NE(text.find("what to do"), std::string::npos) << text;
    EXPECT_EQ(text.find('`'), std::string::npos) << text;
  }
}

TEST(ClausesTest, AClauseNobodyWroteIsNotFound) {
  EXPECT_EQ(find_clause("META-" "999"), nullptr);
  EXPECT_EQ(find_clause(""), nullptr);
}

TEST(ClausesTest, OnlyRowsOfClausesAreRead) {
  const auto read = parse_clauses(
      "# Title\n| clause | text | why | enforced by |\n| --- | --- | --- | --- |\n"
      "| OP-001 | a | b | host |\n| `run` | goes on | tainted | kept |\n| OP-02 | a | b | c |\n"
      "not a row | OP-003 | x |\n| OP-001 | mend it |");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].id, "OP-001");
  EXPECT_EQ(read[0].remedy, "mend it");
}

}  // namespace
}  // namespace berth::registry
