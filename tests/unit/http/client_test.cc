// Requests and answers on real connections: bodies, bounds, deadlines, redirects.
#include "tests/unit/http/client_fixture.h"

namespace berth::http::tests {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpClient : public ClientTest {};

// Waits as long as the test does.
void hang(Peer& peer) { peer.linger(); }

TEST_F(HttpClient, SendsMethodPathFieldsAndBody) {
  std::string seen;
  TlsServer server(identity_, [&](Peer& peer) {
    seen = peer.request().value_or("");
    peer.answer(201, "made", "X-Thing: 7\r\n");
  });
  Fetcher fetcher(options());
  Request request = post(server.url("/api/box?x=1"), "{\"a\":1}");
  request.headers.add("Content-Type", "application/json");
  const Fetched fetched = fetcher.fetch(request);
  EXPECT_EQ(fetched.status, 201);
  EXPECT_EQ(fetched.body, "made");
  EXPECT_EQ(fetched.headers.find("x-thing"), "7");
  EXPECT_THAT(seen, HasSubstr("POST /api/box?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Host: localhost:" + std::to_string(server.port()) + "\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer "));
  EXPECT_TRUE(seen.ends_with("\r\n\r\n{\"a\":1}"));
}

TEST_F(HttpClient, ReusesAConnectionThatIsWhole) {
  TlsServer server(identity_, [](Peer& peer) {
    while (const auto request = peer.request()) peer.answer(200, request->substr(0, 4));
  });
  Fetcher fetcher(options());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fetcher.fetch(i % 2 == 0 ? get(server.url()) : post(server.url())).status, 200);
    EXPECT_EQ(fetcher.client().idle_connections(), 1u);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpClient, DoesNotReuseWhatWasClosedOrHasBytesLeft) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    if (peer.number() == 1) peer.answer(200, "a", "Connection: close\r\n");
    if (peer.number() == 2) peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nbEXTRA");
    if (peer.number() == 3) {
      peer.answer(200, "c");
      peer.close();
    }
    if (peer.number() == 4) peer.answer(200, "d");
    peer.linger();
  });
  Fetcher fetcher(options());
  for (const char* body : {"a", "b", "c", "d"})
    EXPECT_EQ(fetcher.fetch(post(server.url())).body, body);
  EXPECT_EQ(server.connections(), 4);
}

TEST_F(HttpClient, ReadsAChunkedBodyHoweverItArrives) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    for (const char c : std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"))
      peer.write(std::string_view(&c, 1));
    peer.linger();
  });
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "abc0123456789");
  EXPECT_EQ(fetcher.client().idle_connections(), 1u);
}

TEST_F(HttpClient, ABodyThatEndsWithTheConnectionMustEndInTheProperWay) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\n\r\nas much as there is");
    if (peer.number() == 1) peer.close();
    if (peer.number() == 1) peer.linger();
  });
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "as much as there is");
  EXPECT_FAILURE(checked(fetcher.fetch(get(server.url()))), Reason::kClosed, Delivery::kAnswered);
}

TEST_F(HttpClient, RefusesACompressedAnswer) {
  TlsServer server(identity_, [](Peer& peer) {
    const auto request = peer.request();
    EXPECT_THAT(request.value_or(""), HasSubstr("Accept-Encoding: identity\r\n"));
    peer.answer(200, "\x1f\x8b", "Content-Encoding: gzip\r\n");
  });
  EXPECT_FAILURE(failure_of(get(server.url())), Reason::kProtocol, Delivery::kAnswered);
}

TEST_F(HttpClient, ABodyBeyondTheBoundIsRefusedWithoutBeingHeld) {
  std::atomic<std::uint64_t> sent{0};
  TlsServer server(identity_, [&](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
    // For ever, as far as it gets.
    for (;; sent += 0x4000) peer.write(chunk);
  });
  Fetcher fetcher(options());
  EXPECT_FAILURE(checked(fetcher.fetch(get(server.url()), 100'000)), Reason::kTooLarge,
                 Delivery::kAnswered);
  EXPECT_EQ(fetcher.client().idle_connections(), 0u);
  EXPECT_LT(sent, 64u << 20);
  TlsServer announced(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    peer.linger();
  });
  EXPECT_FAILURE(checked(fetcher.fetch(get(announced.url()), 100'000)), Reason::kTooLarge,
                 Delivery::kAnswered);
}

TEST_F(HttpClient, AHeadWithoutEndIsRefused) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\n");
    for (int i = 0;; ++i)
      peer.write("X-" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n");
  });
  EXPECT_FAILURE(failure_of(post(server.url())), Reason::kTooLarge, Delivery::kUnknown);
  TlsServer one_field(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\nX: ");
    for (;;) peer.write(std::string(4096, 'x'));
  });
  EXPECT_FAILURE(failure_of(post(one_field.url())), Reason::kTooLarge, Delivery::kUnknown);
}

TEST_F(HttpClient, ASlowAnswerEndsAtTheDeadline) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    if (peer.number() == 2) peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    // Never silent, never done.
    for (;;) {
      peer.write("x");
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  Request head_drips = post(server.url());
  head_drips.deadline = Clock::now() + std::chrono::seconds(2);
  EXPECT_FAILURE(failure_of(head_drips), Reason::kTimeout, Delivery::kUnknown);
  Request body_drips = post(server.url());
  body_drips.deadline = Clock::now() + std::chrono::seconds(2);
  EXPECT_FAILURE(failure_of(body_drips), Reason::kTimeout, Delivery::kAnswered);
}

TEST_F(HttpClient, ARequestWhoseTimeIsOverIsNotSent) {
  TlsServer server(identity_, hang);
  Request late = post(server.url());
  late.deadline = Clock::now() - milliseconds(1);
  EXPECT_FAILURE(failure_of(late), Reason::kTimeout, Delivery::kNotSent);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpClient, CancellingEndsTheWait) {
  TlsServer server(identity_, hang);
  Fetcher fetcher(options());
  const Fetched fetched = fetcher.fetch_cancelled(post(server.url()), milliseconds(50));
  EXPECT_EQ(checked(fetched).reason(), Reason::kCancelled);
  EXPECT_EQ(fetcher.client().idle_connections(), 0u);
}

TEST_F(HttpClient, StreamsABodyWithAndWithoutASize) {
  TlsServer server(identity_, [](Peer& peer) {
    while (const auto head = peer.head()) {
      std::string body;
      const bool sized = head->find("Content-Length: 100000") != std::string::npos;
      if (sized) body = peer.exactly(100'000);
      while (!sized) {
        std::string line;
        while (!line.ends_with("\r\n")) line += peer.exactly(1);
        const std::size_t size = std::stoul(line, nullptr, 16);
        body += peer.exactly(size);
        peer.exactly(2);
        if (size == 0) break;
      }
      const bool right = body == std::string(100'000, 'z');
      peer.answer(200, !right ? "wrong" : sized ? "sized" : "chunked");
    }
  });
  Fetcher fetcher(options());
  for (const bool sized : {true, false}) {
    Request request = post(server.url(), "");
    auto left = std::make_shared<std::size_t>(100'000);
    request.source = [left](std::span<char> into) -> boost::asio::awaitable<std::size_t> {
      const std::size_t give = std::min({*left, into.size(), std::size_t{777}});
      std::fill_n(into.begin(), give, 'z');
      *left -= give;
      co_return give;
    };
    if (sized) request.source_bytes = 100'000;
    EXPECT_EQ(fetcher.fetch(request).body, sized ? "sized" : "chunked");
  }
}

TEST_F(HttpClient, ABodyOfAnotherSizeThanAnnouncedIsNotPassedOff) {
  TlsServer server(identity_, [](Peer& peer) {
    peer.head();
    peer.exactly(10);
  });
  for (const std::size_t size : {9u, 11u}) {
    Request request = post(server.url(), "");
    auto left = std::make_shared<std::size_t>(size);
    request.source = [left](std::span<char> into) -> boost::asio::awaitable<std::size_t> {
      const std::size_t give = std::exchange(*left, 0);
      std::fill_n(into.begin(), give, 'z');
      co_return give;
    };
    request.source_bytes = 10;
    EXPECT_EQ(failure_of(request).reason(), Reason::kInvalid);
  }
}

TEST_F(HttpClient, ManyRequestsShareOneThreadAndDoNotMix) {
  TlsServer server(identity_, [](Peer& peer) {
    while (const auto request = peer.request())
      peer.answer(200, request->substr(5, request->find(' ', 5) - 5));
  });
  Fetcher fetcher(options());
  std::vector<Request> requests;
  for (int i = 0; i < 60; ++i) requests.push_back(get(server.url("/" + std::to_string(i))));
  const std::vector<Fetched> all = fetcher.fetch_all(requests);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].body, std::to_string(i));
  EXPECT_LE(fetcher.client().idle_connections(), 60u);
}

TEST_F(HttpClient, FollowsARedirectWithinTheOrigin) {
  std::vector<std::string> seen;
  TlsServer server(identity_, [&](Peer& peer) {
    while (const auto request = peer.request()) {
      seen.push_back(*request);
      if (seen.size() == 1)
        peer.answer(302, "", "Location: ../b?x=1\r\n");
      else
        peer.answer(200, "there");
    }
  });
  Fetcher fetcher(options());
  const Fetched fetched = fetcher.fetch(get(server.url("/a/c")));
  EXPECT_EQ(fetched.body, "there");
  EXPECT_EQ(fetched.from, server.url("/b?x=1"));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1], HasSubstr(kToken));
}

TEST_F(HttpClient, ARedirectToAnotherOriginLosesTheCredentialsForGood) {
  std::vector<std::string> elsewhere, home;
  std::string home_url;
  TlsServer other(identity_, [&](Peer& peer) {
    while (const auto request = peer.request()) {
      elsewhere.push_back(*request);
      peer.answer(307, "", "Location: " + home_url + "\r\n");
    }
  });
  TlsServer server(identity_, [&](Peer& peer) {
    while (const auto request = peer.request()) {
      home.push_back(*request);
      if (home.size() == 1)
        peer.answer(307, "", "Location: " + other.url("/x") + "\r\n");
      else
        peer.answer(200, "back");
    }
  });
  home_url = server.url("/again");
  Fetcher fetcher(options());
  Request request = get(server.url());
  request.headers.add("Cookie", "session=very-secret-cookie");
  request.headers.add("X-Kind", "plain");
  EXPECT_EQ(fetcher.fetch(request).body, "back");
  ASSERT_EQ(elsewhere.size(), 1u);
  EXPECT_THAT(elsewhere[0], Not(HasSubstr("secret")));
  EXPECT_THAT(elsewhere[0], HasSubstr("X-Kind: plain"));
  ASSERT_EQ(home.size(), 2u);
  EXPECT_THAT(home[1], Not(HasSubstr("secret")));
}

TEST_F(HttpClient, RedirectsAreBoundedStayWithTlsAndAreNotForPosts) {
  int answers = 0;
  TlsServer server(identity_, [&](Peer& peer) {
    while (const auto request = peer.request()) {
      ++answers;
      if (request->find("/down") != std::string::npos)
        peer.answer(302, "", "Location: http://localhost/?token=hunter2\r\n");
      else
        peer.answer(302, "", "Location: /loop\r\n");
    }
  });
  const TransportFailure loop = failure_of(get(server.url("/loop")));
  EXPECT_FAILURE(loop, Reason::kRedirect, Delivery::kAnswered);
  EXPECT_EQ(answers, 6);
  const TransportFailure down = failure_of(get(server.url("/down")));
  EXPECT_FAILURE(down, Reason::kRedirect, Delivery::kAnswered);
  EXPECT_THAT(down.message(), Not(HasSubstr("hunter2")));
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(post(server.url("/loop"))).status, 302);
}

}  // namespace
}  // namespace berth::http::tests
