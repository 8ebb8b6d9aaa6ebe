// The Daytona provider as it is installed, before a stand-in of its service.
#ifndef BERTH_TESTS_REMOTE_DAYTONA_FIXTURE_H_
#define BERTH_TESTS_REMOTE_DAYTONA_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "berth/testing/fake_host.hpp"
#include "tests/remote/provider_file.h"
#include "tests/remote/standin.h"

namespace berth::tests {

inline constexpr const char* kKey = "dtn_very-secret-key";

// A host with the provider open in it.
class DaytonaHost {
 public:
  explicit DaytonaHost(const Standin& standin, const std::string& organization = "org-1")
      : state_(std::filesystem::path(standin.folder()) / "provider"),
        host_(entry_of(BERTH_DAYTONA_PROVIDER)) {
    std::filesystem::create_directories(state_);
    host_.set_secret("DAYTONA_API_KEY", kKey);
    host_.set_secret("DAYTONA_ORGANIZATION_ID", organization);
    for (const char* name : {"DAYTONA_API_URL", "DAYTONA_TARGET", "HTTPS_PROXY", "NO_PROXY"})
      host_.declare_secret(name);
    const std::string config = "{\"apiUrl\":\"" + standin.url() + "/api\",\"caFile\":\"" +
                               standin.authority_file() +
                               "\",\"pollFirstMs\":10,\"pollMostMs\":100}";
    const auto opened = host_.open(config, state_.string());
    if (!opened.done()) throw std::runtime_error("open: " + opened.message);
  }
  ~DaytonaHost() {
    EXPECT_TRUE(host_.shutdown().done());
    for (const std::string& violation : host_.violations()) ADD_FAILURE() << violation;
  }
  testing::FakeHost* operator->() { return &host_; }

 private:
  std::filesystem::path state_;
  testing::FakeHost host_;
};

class DaytonaTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { standin_ = std::make_unique<Standin>("daytona"); }
  static void TearDownTestSuite() { standin_.reset(); }
  void SetUp() override { standin_->clear(); }

  static Standin& standin() { return *standin_; }

  // Every text that a person sees is looked through for the key.
  static testing::Answer seen(testing::Answer answer) {
    EXPECT_EQ(answer.message.find(kKey), std::string::npos) << answer.message;
    return answer;
  }
  std::string name() {
    return "berth-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
           "-" + std::to_string(++names_);
  }
  std::string create(DaytonaHost& host, const std::string& wanted) {
    const auto made = seen(host->create(wanted));
    EXPECT_TRUE(made.done()) << made.message;
    return made.done() ? made.get<Created>().ref : std::string();
  }

 private:
  static inline std::unique_ptr<Standin> standin_;
  int names_ = 0;
};

}  // namespace berth::tests

#endif  // BERTH_TESTS_REMOTE_DAYTONA_FIXTURE_H_
