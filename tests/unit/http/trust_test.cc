// Who is believed, and what a failed connection says about delivery.
#include <openssl/ssl.h>

#include "tests/unit/http/client_fixture.h"

namespace berth::http::tests {
namespace {

using ::testing::HasSubstr;

void answer_hello(Peer& peer) {
  while (const auto request = peer.request()) peer.answer(200, "hello");
}

class Trust : public ClientTest {};

TEST_F(Trust, AnAuthorityOfTheFileIsBelieved) {
  TlsServer server(identity_, answer_hello);
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "hello");
  Request by_address = get("https://127.0.0.1:" + std::to_string(server.port()) + "/");
  EXPECT_EQ(fetcher.fetch(by_address).body, "hello");
}

TEST_F(Trust, AnUnknownAuthorityIsRefused) {
  const Authority other;
  TlsServer server(other.issue(), answer_hello);
  const TransportFailure failure = failure_of(post(server.url()));
  EXPECT_FAILURE(failure, Reason::kTls, Delivery::kNotSent);
  EXPECT_THAT(failure.message(), HasSubstr("unable to get local issuer certificate"));
}

TEST_F(Trust, ACertificateOfAnotherHostIsRefused) {
  for (const char* names : {"DNS:other.example", "DNS:*.localhost", "IP:127.0.0.2"}) {
    TlsServer server(authority_.issue(names), answer_hello);
    const TransportFailure failure = failure_of(post(server.url()));
    EXPECT_FAILURE(failure, Reason::kTls, Delivery::kNotSent);
    EXPECT_THAT(failure.message(), HasSubstr("hostname mismatch")) << names;
  }
  TlsServer server(authority_.issue("DNS:localhost"), answer_hello);
  const TransportFailure failure =
      failure_of(post("https://127.0.0.1:" + std::to_string(server.port()) + "/"));
  EXPECT_FAILURE(failure, Reason::kTls, Delivery::kNotSent);
  EXPECT_THAT(failure.message(), HasSubstr("IP address mismatch"));
}

TEST_F(Trust, AnExpiredCertificateIsRefused) {
  TlsServer server(authority_.issue("DNS:localhost", std::chrono::seconds(-60)), answer_hello);
  const TransportFailure failure = failure_of(post(server.url()));
  EXPECT_FAILURE(failure, Reason::kTls, Delivery::kNotSent);
  EXPECT_THAT(failure.message(), HasSubstr("certificate has expired"));
}

TEST_F(Trust, Tls11IsRefusedAndTls12IsSpoken) {
  TlsServer old(identity_, answer_hello, {.max_version = TLS1_1_VERSION});
  EXPECT_FAILURE(failure_of(post(old.url())), Reason::kTls, Delivery::kNotSent);
  TlsServer newer(identity_, answer_hello, {.max_version = TLS1_2_VERSION});
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(get(newer.url())).body, "hello");
}

TEST_F(Trust, AFileThatIsNoAuthorityIsAnErrorAndNotIgnored) {
  ClientOptions with = options();
  with.trust_file = "/nowhere/authority.pem";
  EXPECT_THROW(Fetcher fetcher(with), std::runtime_error);
}

TEST_F(Trust, WhatNeverConnectedWasNotSent) {
  const TransportFailure refused =
      failure_of(post("https://localhost:" + std::to_string(closed_port()) + "/"));
  EXPECT_FAILURE(refused, Reason::kConnect, Delivery::kNotSent);
  const TransportFailure unknown = failure_of(post("https://no-such-host.invalid/"));
  EXPECT_FAILURE(unknown, Reason::kResolve, Delivery::kNotSent);
  TlsServer reset(identity_, answer_hello, {.reset_at_once = true});
  EXPECT_FAILURE(failure_of(post(reset.url())), Reason::kTls, Delivery::kNotSent);
  TlsServer plain(identity_, [](Peer& peer) { peer.write("HTTP/1.1 400 Bad\r\n\r\n"); },
                  {.plain = true});
  EXPECT_FAILURE(failure_of(post(plain.url())), Reason::kTls, Delivery::kNotSent);
}

TEST_F(Trust, AHandshakeThatHangsEndsAndWasNotSent) {
  TlsServer silent(identity_, [](Peer& peer) { peer.linger(); }, {.plain = true});
  ClientOptions with = options();
  with.connect_timeout = std::chrono::milliseconds(50);
  Fetcher fetcher(with);
  EXPECT_FAILURE(checked(fetcher.fetch(post(silent.url()))), Reason::kTimeout, Delivery::kNotSent);
}

TEST_F(Trust, AProxyConnectsAndSeesNoCredentialsOfTheService) {
  TlsServer server(identity_, answer_hello);
  ConnectProxy proxy;
  ClientOptions with = options();
  with.proxy = ProxySettings("http://me:pw12345@127.0.0.1:" + std::to_string(proxy.port()),
                             "direct.example");
  Fetcher fetcher(with);
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "hello");
  ASSERT_EQ(proxy.heads().size(), 1u);
  EXPECT_THAT(proxy.heads()[0],
              HasSubstr("CONNECT localhost:" + std::to_string(server.port()) + " HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.heads()[0], HasSubstr("Proxy-Authorization: Basic "));
  EXPECT_THAT(proxy.heads()[0], ::testing::Not(HasSubstr(kToken)));
}

TEST_F(Trust, NoProxyGoesDirectly) {
  TlsServer server(identity_, answer_hello);
  ConnectProxy proxy;
  ClientOptions with = options();
  with.proxy = ProxySettings("http://127.0.0.1:" + std::to_string(proxy.port()), "localhost");
  Fetcher fetcher(with);
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "hello");
  EXPECT_TRUE(proxy.heads().empty());
}

TEST_F(Trust, AProxyThatRefusesSentNothingAndKeepsItsPassword) {
  TlsServer server(identity_, answer_hello);
  ConnectProxy proxy(407);
  ClientOptions with = options();
  with.proxy = ProxySettings("http://me:pw12345@127.0.0.1:" + std::to_string(proxy.port()), "");
  Fetcher fetcher(with);
  const TransportFailure failure = checked(fetcher.fetch(post(server.url())));
  EXPECT_FAILURE(failure, Reason::kProxy, Delivery::kNotSent);
  EXPECT_THAT(failure.message(), HasSubstr("407"));
  EXPECT_THAT(failure.message(), ::testing::Not(HasSubstr("pw12345")));
  EXPECT_EQ(server.connections(), 0);
}

}  // namespace
}  // namespace berth::http::tests
