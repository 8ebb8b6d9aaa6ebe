// What is said about a request that got no answer, and when it is sent once more.
#include "tests/unit/http/client_fixture.h"

namespace berth::http::tests {
namespace {

using std::chrono::milliseconds;

class HttpDelivery : public ClientTest {};

TEST_F(HttpDelivery, ClosedAfterTheRequestIsUnknownAndAPostIsSentOnce) {
  std::atomic<int> requests{0};
  TlsServer server(identity_, [&](Peer& peer) {
    if (peer.request()) ++requests;
  });
  EXPECT_FAILURE(failure_of(post(server.url())), Reason::kClosed, Delivery::kUnknown);
  EXPECT_EQ(requests, 1);
}

TEST_F(HttpDelivery, AResetInsteadOfAnAnswerIsUnknown) {
  TlsServer server(identity_, [](Peer& peer) {
    if (peer.request()) peer.reset();
  });
  EXPECT_FAILURE(failure_of(post(server.url())), Reason::kClosed, Delivery::kUnknown);
}

TEST_F(HttpDelivery, AResetInTheHeadIsUnknown) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 O");
    peer.reset();
  });
  EXPECT_FAILURE(failure_of(post(server.url())), Reason::kClosed, Delivery::kUnknown);
}

TEST_F(HttpDelivery, AResetInTheBodyWasAnswered) {
  std::atomic<bool> head_read{false};
  TlsServer server(identity_, [&](Peer& peer) {
    if (!peer.request()) return;
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    while (!head_read) std::this_thread::sleep_for(milliseconds(1));
    peer.reset();
  });
  Fetcher fetcher(options());
  const Request request = post(server.url());
  const auto failure = fetcher.talk([&](Client& client) -> boost::asio::awaitable<void> {
    Reply reply = co_await client.send(request);
    head_read = true;
    co_await reply.text(100);
  });
  ASSERT_TRUE(failure);
  EXPECT_FAILURE(*failure, Reason::kClosed, Delivery::kAnswered);
}

TEST_F(HttpDelivery, WhatMayBeRepeatedIsRepeatedAndBounded) {
  std::atomic<int> requests{0};
  TlsServer server(identity_, [&](Peer& peer) {
    if (!peer.request()) return;
    if (++requests == 3) peer.answer(200, "third");
    if (requests == 3) peer.linger();
  });
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(get(server.url())).body, "third");
  EXPECT_EQ(requests, 3);
  std::atomic<int> lost{0};
  TlsServer never(identity_, [&](Peer& peer) {
    if (peer.request()) ++lost;
  });
  Request remove = get(never.url());
  remove.method = Method::kDelete;
  EXPECT_FAILURE(failure_of(remove), Reason::kClosed, Delivery::kUnknown);
  EXPECT_EQ(lost, 3);
  lost = 0;
  Request once = get(never.url());
  once.repeat = Repeat::kForbidden;
  EXPECT_FAILURE(failure_of(once), Reason::kClosed, Delivery::kUnknown);
  EXPECT_EQ(lost, 1);
}

TEST_F(HttpDelivery, AConnectionGoneStaleUnseenIsUnknownForAPostAndRepeatedForAGet) {
  std::atomic<int> requests{0};
  TlsServer server(identity_, [&](Peer& peer) {
    if (!peer.request()) return;
    ++requests;
    peer.answer(200, "first");
    // Takes the second request and closes without a byte.
    if (peer.number() == 1 && peer.request()) ++requests;
    if (peer.number() != 1) peer.linger();
  });
  Fetcher fetcher(options());
  EXPECT_EQ(fetcher.fetch(post(server.url())).body, "first");
  EXPECT_FAILURE(checked(fetcher.fetch(post(server.url()))), Reason::kClosed, Delivery::kUnknown);
  EXPECT_EQ(requests, 2);
  std::atomic<int> gets{0};
  TlsServer again(identity_, [&](Peer& peer) {
    if (!peer.request()) return;
    peer.answer(200, std::to_string(++gets));
    if (peer.number() == 1 && peer.request()) return;
    peer.linger();
  });
  EXPECT_EQ(fetcher.fetch(get(again.url())).body, "1");
  EXPECT_EQ(fetcher.fetch(get(again.url())).body, "2");
}

TEST_F(HttpDelivery, AConnectionSeenToBeClosedIsNotUsed) {
  TlsServer server(identity_, [](Peer& peer) {
    if (!peer.request()) return;
    peer.answer(200, "ok");
    peer.close();
  });
  Fetcher fetcher(options());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fetcher.fetch(post(server.url())).body, "ok");
    // Until the end of the connection has arrived.
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_EQ(server.connections(), 3);
}

TEST_F(HttpDelivery, AnAnswerToARequestThatBrokeOffIsAnAnswer) {
  TlsServer server(identity_, [](Peer& peer) {
    peer.head();
    peer.answer(413, "too much");
    peer.close();
    // Reads on for a while, so that the answer is not lost to a reset.
    std::this_thread::sleep_for(milliseconds(200));
  });
  Fetcher fetcher(options());
  const Fetched fetched = fetcher.fetch(post(server.url(), std::string(64u << 20, 'x')));
  EXPECT_EQ(fetched.status, 413) << (fetched.failure ? fetched.failure->message() : "");
}

TEST_F(HttpDelivery, ABodyThatWasStreamedIsNotSentAgain) {
  std::atomic<int> requests{0};
  TlsServer server(identity_, [&](Peer& peer) {
    if (peer.request()) ++requests;
  });
  Request request = get(server.url());
  request.method = Method::kPut;
  auto left = std::make_shared<std::size_t>(10);
  request.source = [left](std::span<char> into) -> boost::asio::awaitable<std::size_t> {
    const std::size_t give = std::exchange(*left, 0);
    std::fill_n(into.begin(), give, 'z');
    co_return give;
  };
  request.source_bytes = 10;
  EXPECT_FAILURE(failure_of(request), Reason::kClosed, Delivery::kUnknown);
  EXPECT_EQ(requests, 1);
}

}  // namespace
}  // namespace berth::http::tests
