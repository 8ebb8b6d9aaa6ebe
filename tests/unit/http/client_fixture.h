// What the tests of the client share: an authority, a client that trusts it, requests.
#ifndef BERTH_TESTS_UNIT_HTTP_CLIENT_FIXTURE_H_
#define BERTH_TESTS_UNIT_HTTP_CLIENT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/http/authority.h"
#include "tests/unit/http/fetcher.h"
#include "tests/unit/http/tls_server.h"

namespace berth::http::tests {

inline constexpr const char* kToken = "dtn_very-secret-token";

class ClientTest : public ::testing::Test {
 protected:
  ClientOptions options() const {
    ClientOptions out;
    out.trust_file = authority_.file();
    out.repeat_pause = std::chrono::milliseconds(1);
    return out;
  }

  static Request get(const std::string& url) {
    Request out;
    out.url = Url::parse(url);
    out.credentials.add("Authorization", std::string("Bearer ") + kToken);
    out.deadline = Clock::now() + std::chrono::seconds(30);
    return out;
  }
  static Request post(const std::string& url, std::string body = "{}") {
    Request out = get(url);
    out.method = Method::kPost;
    out.body = std::move(body);
    return out;
  }

  // The failure of a request that must fail; its text is checked for secrets.
  TransportFailure failure_of(const Request& request) {
    Fetcher fetcher(options());
    return checked(fetcher.fetch(request));
  }
  static TransportFailure checked(const Fetched& fetched) {
    EXPECT_TRUE(fetched.failure.has_value()) << "answered " << fetched.status;
    if (!fetched.failure) return {Reason::kInvalid, Delivery::kAnswered, "no failure"};
    EXPECT_THAT(fetched.failure->message(), ::testing::Not(::testing::HasSubstr(kToken)));
    return *fetched.failure;
  }

  Authority authority_;
  Identity identity_ = authority_.issue();
};

#define EXPECT_FAILURE(failure, why, how)                                    \
  do {                                                                       \
    const TransportFailure& seen = (failure);                                \
    EXPECT_EQ(to_string(seen.reason()), to_string(why)) << seen.message();   \
    EXPECT_EQ(to_string(seen.delivery()), to_string(how)) << seen.message(); \
  } while (false)

}  // namespace berth::http::tests

#endif  // BERTH_TESTS_UNIT_HTTP_CLIENT_FIXTURE_H_
