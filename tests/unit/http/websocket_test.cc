// Messages over a WebSocket, against frames written by hand.
#include <openssl/evp.h>

#include "tests/unit/http/client_fixture.h"

namespace berth::http::tests {
namespace {

using ::testing::HasSubstr;
using Kind = WebSocketMessage::Kind;
namespace asio = boost::asio;

std::string accept_of(const std::string& head) {
  constexpr std::string_view kField = "Sec-WebSocket-Key: ";
  const auto at = head.find(kField) + kField.size();
  const std::string text =
      head.substr(at, head.find('\r', at) - at) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[20];
  EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha1(), nullptr);
  char out[32] = {};
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out), digest, sizeof digest);
  return out;
}

std::string open_socket(Peer& peer) {
  const std::string head = peer.head().value_or("");
  peer.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: " +
      accept_of(head) + "\r\n\r\n");
  return head;
}

std::string frame(int opcode, std::string_view data, bool last = true) {
  std::string out(1, static_cast<char>((last ? 0x80 : 0) | opcode));
  if (data.size() < 126) {
    out.push_back(static_cast<char>(data.size()));
  } else {
    out.push_back(126);
    out.push_back(static_cast<char>(data.size() >> 8));
    out.push_back(static_cast<char>(data.size() & 0xff));
  }
  return out + std::string(data);
}

struct Frame {
  int opcode = 0;
  std::string data;
};

Frame read_frame(Peer& peer) {
  const std::string head = peer.exactly(2);
  std::size_t size = static_cast<unsigned char>(head[1]) & 0x7f;
  if (size == 126) {
    const std::string more = peer.exactly(2);
    size = static_cast<std::size_t>(static_cast<unsigned char>(more[0]) << 8 |
                                    static_cast<unsigned char>(more[1]));
  }
  const std::string mask = peer.exactly(4);
  Frame out{head[0] & 0x0f, peer.exactly(size)};
  for (std::size_t i = 0; i < size; ++i) out.data[i] = static_cast<char>(out.data[i] ^ mask[i % 4]);
  return out;
}

class HttpWebSocket : public ClientTest {
 protected:
  std::optional<TransportFailure> talk(const TlsServer& server, const WebSocketOptions& with,
                                       std::function<asio::awaitable<void>(WebSocket&)> then) {
    Fetcher fetcher(options());
    const Request request = get(server.url("/logs?follow=true"));
    return fetcher.talk([&](Client& client) -> asio::awaitable<void> {
      WebSocket socket = co_await client.open_websocket(request, with);
      co_await then(socket);
    });
  }
};

TEST_F(HttpWebSocket, EchoesTextAndBytesAndJoinsFragments) {
  std::string head;
  TlsServer server(identity_, [&](Peer& peer) {
    head = open_socket(peer);
    const Frame first = read_frame(peer), second = read_frame(peer);
    peer.write(frame(first.opcode, first.data));
    peer.write(frame(second.opcode, second.data.substr(0, 100), false));
    peer.write(frame(9, "ping"));
    peer.write(frame(0, second.data.substr(100)));
    peer.write(frame(8, std::string("\x0f\xa8", 2) + "too slow"));
    while (read_frame(peer).opcode != 8) {
    }
  });
  std::vector<WebSocketMessage> got;
  const auto failure = talk(server, {}, [&](WebSocket& socket) -> asio::awaitable<void> {
    const std::string bytes(1000, '\xff');
    co_await socket.send(Kind::kText, "hello");
    co_await socket.send(Kind::kBinary, bytes);
    for (int i = 0; i < 3; ++i) got.push_back(co_await socket.read());
  });
  ASSERT_FALSE(failure) << failure->message();
  EXPECT_THAT(head, HasSubstr(kToken));
  EXPECT_THAT(head, HasSubstr("GET /logs?follow=true HTTP/1.1"));
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].kind, Kind::kText);
  EXPECT_EQ(got[0].data, "hello");
  EXPECT_EQ(got[1].kind, Kind::kBinary);
  EXPECT_EQ(got[1].data, std::string(1000, '\xff'));
  EXPECT_EQ(got[2].kind, Kind::kClosed);
  EXPECT_EQ(got[2].close_code, 4008);
  EXPECT_EQ(got[2].close_reason, "too slow");
}

TEST_F(HttpWebSocket, ClosesInTheProperWay) {
  std::atomic<bool> closed{false};
  TlsServer server(identity_, [&](Peer& peer) {
    open_socket(peer);
    const Frame last = read_frame(peer);
    closed = last.opcode == 8;
    peer.write(frame(8, last.data));
    peer.linger();
  });
  const auto failure =
      talk(server, {}, [](WebSocket& socket) -> asio::awaitable<void> { co_await socket.close(); });
  EXPECT_FALSE(failure) << failure->message();
  EXPECT_TRUE(closed);
}

TEST_F(HttpWebSocket, AMessageBeyondTheBoundIsRefusedHoweverItIsCut) {
  for (const bool fragments : {false, true}) {
    TlsServer server(identity_, [&](Peer& peer) {
      open_socket(peer);
      if (!fragments) peer.write(frame(2, std::string(2000, 'x')));
      for (int i = 0; fragments && i < 20; ++i)
        peer.write(frame(i == 0 ? 2 : 0, std::string(100, 'x'), false));
      peer.linger();
    });
    WebSocketOptions small;
    small.message_bytes_max = 1000;
    const auto failure = talk(
        server, small, [](WebSocket& socket) -> asio::awaitable<void> { co_await socket.read(); });
    ASSERT_TRUE(failure);
    EXPECT_FAILURE(*failure, Reason::kTooLarge, Delivery::kAnswered);
  }
}

TEST_F(HttpWebSocket, AServiceThatDeclinesAnswered) {
  TlsServer server(identity_, [](Peer& peer) {
    if (peer.head()) peer.answer(502, "<html>");
  });
  const auto failure = talk(server, {}, [](WebSocket&) -> asio::awaitable<void> { co_return; });
  ASSERT_TRUE(failure);
  EXPECT_FAILURE(*failure, Reason::kProtocol, Delivery::kAnswered);
  EXPECT_THAT(failure->message(), HasSubstr("502"));
}

TEST_F(HttpWebSocket, ABrokenSocketIsAFailureAndABadFrameToo) {
  for (const bool broken : {true, false}) {
    std::atomic<bool> opened{false};
    TlsServer server(identity_, [&](Peer& peer) {
      open_socket(peer);
      if (broken) {
        while (!opened) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return peer.reset();
      }
      peer.write(frame(3, "reserved"));
      peer.linger();
    });
    const auto failure = talk(server, {}, [&](WebSocket& socket) -> asio::awaitable<void> {
      opened = true;
      co_await socket.read();
    });
    ASSERT_TRUE(failure);
    EXPECT_FAILURE(*failure, broken ? Reason::kClosed : Reason::kProtocol, Delivery::kAnswered);
  }
}

TEST_F(HttpWebSocket, CancellingEndsAReadThatWaits) {
  TlsServer server(identity_, [](Peer& peer) {
    open_socket(peer);
    peer.linger();
  });
  Fetcher fetcher(options());
  const Request request = get(server.url("/"));
  const WebSocketOptions with;
  const auto failure = fetcher.talk_cancelled(
      [&](Client& client) -> asio::awaitable<void> {
        WebSocket socket = co_await client.open_websocket(request, with);
        co_await socket.read();
      },
      std::chrono::milliseconds(500));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason(), Reason::kCancelled) << failure->message();
}

TEST_F(HttpWebSocket, ASilentSideIsGivenUpAndADeadlineEndsTheWait) {
  TlsServer server(identity_, [](Peer& peer) {
    open_socket(peer);
    peer.linger();  // answers no ping
  });
  WebSocketOptions impatient;
  impatient.idle_time_max = std::chrono::milliseconds(60);
  const auto silent = talk(server, impatient, [](WebSocket& socket) -> asio::awaitable<void> {
    co_await socket.read();
  });
  ASSERT_TRUE(silent);
  EXPECT_FAILURE(*silent, Reason::kTimeout, Delivery::kAnswered);
  const auto late = talk(server, {}, [](WebSocket& socket) -> asio::awaitable<void> {
    socket.expires_at(Clock::now() + std::chrono::milliseconds(50));
    co_await socket.read();
  });
  ASSERT_TRUE(late);
  EXPECT_FAILURE(*late, Reason::kTimeout, Delivery::kAnswered);
}

}  // namespace
}  // namespace berth::http::tests
