// Files in and out, through the service's own calls.
#include "tests/unit/vercel/provider_fixture.h"

namespace berth::vercel::tests {
namespace {

std::string noise(std::size_t bytes) {
  std::string out(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return out;
}

TEST_F(ProviderTest, PutsAFileWithItsModeAndParentsAndGetsItBack) {
  const std::string ref = made();
  const std::string contents = noise(300'001);
  const std::string path = "/workspace/a b/\xc3\xa4/" + std::string(120, 'n') + "/run.sh";
  const Answer put = host().put_file(ref, path, contents, 0751);
  ASSERT_TRUE(put.done()) << put.message;
  const Answer got = host().get_file(ref, path);
  ASSERT_TRUE(got.done()) << got.message;
  EXPECT_EQ(got.file, contents);
  EXPECT_EQ(got.get<GotFile>().mode, 0751u);
  EXPECT_EQ(got.get<GotFile>().size_bytes, contents.size());
  // Nothing else is left in its folder.
  EXPECT_EQ(run(ref, {"ls", "-A", path.substr(0, path.rfind('/'))}).out, "run.sh\n");
}

TEST_F(ProviderTest, PutsNothingAndReplacesWhatWasThere) {
  const std::string ref = made();
  ASSERT_TRUE(host().put_file(ref, "/workspace/f", "old").done());
  ASSERT_TRUE(host().put_file(ref, "/workspace/f", "").done());
  const Answer got = host().get_file(ref, "/workspace/f");
  ASSERT_TRUE(got.done()) << got.message;
  EXPECT_EQ(got.file, "");
}

TEST_F(ProviderTest, TellsAMissingALargeAndAnotherKindOfFileApartBeforeAnyByte) {
  const std::string ref = made();
  ASSERT_TRUE(host().put_file(ref, "/workspace/f", "12345").done());
  EXPECT_OUTCOME(host().get_file(ref, "/workspace/g"), OutcomeClass::kRejected, Code::kNotFound);
  EXPECT_OUTCOME(host().get_file(ref, "/workspace"), OutcomeClass::kRejected,
                 Code::kInvalidArgument);
  const Answer large = host().get_file(ref, "/workspace/f", 4);
  EXPECT_OUTCOME(large, OutcomeClass::kRejected, Code::kQuota);
  EXPECT_EQ(large.file, "");
  EXPECT_OUTCOME(host().put_file(ref, "relative", "x"), OutcomeClass::kRejected,
                 Code::kInvalidArgument);
}

TEST_F(ProviderTest, TakesAnErrorThatComesWithASuccessForAnErrorAndNotForTheFile) {
  const std::string ref = made();
  ASSERT_TRUE(host().put_file(ref, "/workspace/f", "12345").done());
  fault("POST /v2/sandboxes/sessions/{session}/fs/read",
        answers(200, "internal_server_error", "boom"));
  const Answer got = host().get_file(ref, "/workspace/f");
  EXPECT_OUTCOME(got, OutcomeClass::kUncertain, Code::kInternal);
  EXPECT_EQ(got.file, "");
}

TEST_F(ProviderTest, ASessionThatIsOverIsNoMissingFile) {
  const std::string ref = made();
  ASSERT_TRUE(host().put_file(ref, "/workspace/f", "12345").done());
  fault("POST /v2/sandboxes/sessions/{session}/fs/read",
        answers(404, "not_found", "Session not found"));
  const Answer got = host().get_file(ref, "/workspace/f");
  EXPECT_THAT(got.message, HasSubstr("Session not found"));
  EXPECT_FALSE(got.done());
}

TEST_F(ProviderTest, AFileThatBreaksOffIsNotPut) {
  const std::string ref = made();
  fault("POST /v2/sandboxes/sessions/{session}/fs/write", R"("do": "drop", "when": "after")");
  EXPECT_EQ(host().put_file(ref, "/workspace/f", "12345").outcome_class, OutcomeClass::kUncertain);
  EXPECT_OUTCOME(host().get_file(ref, "/workspace/f"), OutcomeClass::kRejected, Code::kNotFound);
}

}  // namespace
}  // namespace berth::vercel::tests
