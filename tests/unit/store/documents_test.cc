// The rows of saved documents, over every store; and their schema.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>

#include "tests/store/support.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDocument = "0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21";
constexpr const char* kRevision = "5d0c7c1e-93a2-4a4b-8e0b-8a1f4a9c2f10";
constexpr const char* kOther = "6e1d8d2f-a4b3-4b5c-9f1c-9b205bad3021";

class DocumentRowsOnDisk : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder / "berth.db"; }
  std::string sql(const std::string& text) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    char* said = nullptr;
    sqlite3_exec(database, text.c_str(), nullptr, nullptr, &said);
    std::string error = said == nullptr ? "" : said;
    sqlite3_free(said);
    sqlite3_close(database);
    return error;
  }
  std::unique_ptr<SqliteStore> open() { return test::open_store({.path = path()}); }
  void load(const char* fixture) {
    std::ifstream dump(std::string(BERTH_STORE_FIXTURES "/") + fixture);
    ASSERT_TRUE(dump);
    ASSERT_EQ(sql({std::istreambuf_iterator<char>(dump), std::istreambuf_iterator<char>()}), "");
  }
  static DocumentRevision revision(std::uint32_t number, const char* id) {
    DocumentRevision made;
    made.id = id;
    made.document_id = kDocument;
    made.number = number;
    made.title = "chart.py";
    made.sha256 = "s";
    made.code = std::string("a\r\n\xff", 4);
    made.bytes = made.code.size();
    made.created_at = wall_time_from_unix_ms(7);
    return made;
  }

  test::Folder folder;
};

TEST_F(DocumentRowsOnDisk, AStoreOfVersionTwoIsReadByThisProgram) {
  load("schema_2.sql");
  const auto store = open();
  const auto document = test::value_of<std::optional<SavedDocument>>(
      *store, [](Transaction& rows) { return rows.documents().document("ann", "s1", kDocument); });
  ASSERT_TRUE(document);
  EXPECT_EQ(document->created_at, wall_time_from_unix_ms(1795000000001));
  const auto first = test::value_of<std::optional<DocumentRevision>>(
      *store, [](Transaction& rows) { return rows.documents().revision(kDocument, kRevision); });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->code, "print(1)");
  EXPECT_EQ(first->bytes, 8u);
  EXPECT_EQ(first->title, "chart.py");
  const auto latest = test::value_of<std::optional<DocumentRevision>>(
      *store, [](Transaction& rows) { return rows.documents().latest_revision(kDocument); });
  EXPECT_EQ(latest->id, kOther);
  const auto run = test::value_of<std::optional<DocumentRun>>(*store, [](Transaction& rows) {
    return rows.documents().run_of_call({"ann", "s1", "c1"});
  });
  ASSERT_TRUE(run);
  EXPECT_EQ(run->revision_id, kRevision);
  EXPECT_EQ(test::value_of<std::vector<Intent>>(*store,
                                                [](Transaction& rows) { return rows.intents({}); })
                .size(),
            2u);
}

TEST_F(DocumentRowsOnDisk, AStoreOfVersionOneTakesDocumentsOnceItIsOpened) {
  load("schema_1.sql");
  const auto store = open();
  ASSERT_TRUE(test::commit(*store, [](Transaction& rows) -> Status {
    BERTH_CHECK_OK(rows.documents().insert_document({kDocument, "ann", "s1", {}}));
    return rows.documents().insert_revision(revision(1, kRevision));
  }));
  const auto found = test::value_of<std::optional<DocumentRevision>>(
      *store, [](Transaction& rows) { return rows.documents().revision(kDocument, kRevision); });
  EXPECT_EQ(found, revision(1, kRevision));
}

TEST_F(DocumentRowsOnDisk, WhatExistsIsAConflictAndWhatIsMissingIsNotFound) {
  const auto store = open();
  const auto insert = [&](std::function<Status(DocumentRows&)> work) {
    return test::commit(*store, [work](Transaction& rows) { return work(rows.documents()); });
  };
  const DocumentRevision first = revision(1, kRevision);
  const DocumentRevision same_number = revision(1, kOther);
  const DocumentRun run{{"ann", "s1", "c"}, kRevision, {}};
  EXPECT_EQ(insert([=](DocumentRows& rows) { return rows.insert_revision(first); }).error().kind(),
            ErrorKind::kNotFound);
  ASSERT_TRUE(insert([](DocumentRows& rows) {
    return rows.insert_document({kDocument, "ann", "s1", {}});
  }));
  EXPECT_EQ(insert([](DocumentRows& rows) {
              return rows.insert_document({kDocument, "bob", "s2", {}});
            })
                .error()
                .kind(),
            ErrorKind::kConflict);
  EXPECT_EQ(insert([=](DocumentRows& rows) { return rows.insert_run(run); }).error().kind(),
            ErrorKind::kNotFound);
  ASSERT_TRUE(insert([=](DocumentRows& rows) { return rows.insert_revision(first); }));
  EXPECT_EQ(
      insert([=](DocumentRows& rows) { return rows.insert_revision(same_number); }).error().kind(),
      ErrorKind::kConflict);
  ASSERT_TRUE(insert([=](DocumentRows& rows) { return rows.insert_run(run); }));
  EXPECT_EQ(insert([=](DocumentRows& rows) { return rows.insert_run(run); }).error().kind(),
            ErrorKind::kConflict);
}

TEST_F(DocumentRowsOnDisk, ARevisionCannotBeRewrittenByAnyProgram) {
  load("schema_2.sql");
  EXPECT_THAT(sql("UPDATE document_revisions SET code = x'00'"), HasSubstr("never changes"));
  EXPECT_THAT(sql("UPDATE document_runs SET revision = 2"), HasSubstr("never changes"));
}

TEST_F(DocumentRowsOnDisk, PostingsOfAnAccountComePageByPageInOrder) {
  const auto store = open();
  ASSERT_TRUE(test::commit(*store, [](Transaction& rows) -> Status {
    for (int i = 0; i < 7; ++i) {
      const bool given = i % 3 == 0;
      const Posting posting{"k" + std::to_string(i),
                            given ? "grants" : "owner:a",
                            given ? "owner:a" : "usage",
                            Money::micros(i + 1),
                            "",
                            WallTime()};
      BERTH_CHECK_OK(rows.ledger().insert_posting(posting));
      BERTH_CHECK_OK(rows.ledger().insert_posting(
          {"b" + std::to_string(i), "grants", "owner:b", Money::micros(1), "", WallTime()}));
    }
    return {};
  }));
  std::vector<std::string> keys;
  std::string after;
  for (int page = 0; page < 10; ++page) {
    const auto found = test::value_of<std::vector<Posting>>(
        *store, [after](Transaction& rows) { return rows.ledger().postings("owner:a", after, 2); });
    if (found.empty()) break;
    for (const Posting& posting : found) keys.push_back(posting.key);
    after = keys.back();
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"k0", "k1", "k2", "k3", "k4", "k5", "k6"}));
}

}  // namespace
}  // namespace berth
