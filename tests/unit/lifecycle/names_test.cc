#include "core/lifecycle/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/sha256.h"

namespace berth {
namespace {

// A published format of the same construction, with its published vectors.
constexpr NameFormat kPublished{"chatjs-code-v2", "chatjs-code-", 48};

std::string name(const std::vector<std::string>& scope, const CallKey& key) {
  const Result<std::string> made = intent_name(kPublished, scope, key);
  return made ? *made : made.error().message();
}

TEST(Names, PublishedVectorsComeOutOfTheSameFunction) {
  EXPECT_EQ(name({"team-a", "project-a"}, {"alice", "session-a", "call-a"}),
            "chatjs-code-18c20aa035e2fa8aa96f943a6d4860c4c6617259d2b08e86");
  EXPECT_EQ(name({"team", "project"}, {"owner", "session", "call"}),
            "chatjs-code-58f57f676fe68cc999b9e8f0a6753b6f3f7b5ef661f087ca");
  const std::string fingerprint = sha256_hex("test-only");
  EXPECT_EQ(fingerprint, "bb310ae75eb4a77421ea0d52b9db9a10d93be149185126cbfdada35d55c970e9");
  EXPECT_EQ(name({"daytona:org-a", "https://app.daytona.io/api#" + fingerprint},
                 {"alice", "session-a", "call-a"}),
            "chatjs-code-392586ba09fa397d8d42a71ea4952370dd0797370436a729");
}

TEST(Names, TheSameCallHasAStableOpaqueNameIsolatedByScopeOwnerSessionAndCall) {
  const Scope scope = {{"account", "account-a"}, {"endpoint", "here"}};
  const CallKey key = {"alice", "session-a", "call-a"};
  const std::string first = *intent_name(scope, key);
  EXPECT_EQ(first, *intent_name(scope, key));
  EXPECT_THAT(first, ::testing::MatchesRegex("berth-[0-9a-f]{32}"));
  EXPECT_EQ(first.find("account-a"), std::string::npos);
  std::set<std::string> names = {first};
  names.insert(*intent_name(Scope{{"account", "account-b"}, {"endpoint", "here"}}, key));
  names.insert(*intent_name(Scope{{"account", "account-a"}, {"endpoint", "there"}}, key));
  names.insert(*intent_name(scope, {"bob", "session-a", "call-a"}));
  names.insert(*intent_name(scope, {"alice", "session-b", "call-a"}));
  names.insert(*intent_name(scope, {"alice", "session-a", "call-b"}));
  EXPECT_EQ(names.size(), 6U);
}

TEST(Names, DelimitersInsideValuesDoNotMakeTwoCallsOne) {
  EXPECT_NE(name({"t", "p"}, {"a:b", "c", "d"}), name({"t", "p"}, {"a", "b:c", "d"}));
  EXPECT_NE(name({"t", "p"}, {"a\",\"b", "c", "d"}), name({"t", "p"}, {"a", "b\",\"c", "d"}));
  EXPECT_NE(name({"t,p"}, {"a", "b", "c"}), name({"t", "p"}, {"a", "b", "c"}));
}

TEST(Names, MissingIdentityCannotNameAnAnonymousSandbox) {
  const Scope scope = {{"account", "account-a"}};
  for (const std::string blank : {"", " ", "\t\r\n"}) {
    EXPECT_FALSE(intent_name(scope, {blank, "s", "c"}));
    EXPECT_FALSE(intent_name(scope, {"o", blank, "c"}));
    EXPECT_FALSE(intent_name(scope, {"o", "s", blank}));
    EXPECT_FALSE(intent_name(Scope{{"account", blank}}, {"o", "s", "c"}));
  }
  EXPECT_FALSE(intent_name(scope, {"o", "s", "\xff"}));
}

}  // namespace
}  // namespace berth
