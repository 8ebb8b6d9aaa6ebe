#include "plugins/http/websocket.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <optional>

#include "plugins/http/dial.h"
#include "plugins/http/exchange.h"

namespace berth::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ws = beast::websocket;
using boost::system::error_code;

// A TlsSocket the way Beast wants a stream.
class Stream {
 public:
  using executor_type = TlsSocket::Tcp::socket::executor_type;

  explicit Stream(TlsSocket& socket) : socket_(&socket) {}
  executor_type get_executor() { return socket_->socket().get_executor(); }
  TlsSocket& tls() { return *socket_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    asio::mutable_buffer first;
    for (auto at = asio::buffer_sequence_begin(buffers);
         first.size() == 0 && at != asio::buffer_sequence_end(buffers); ++at)
      first = *at;
    return start(
        std::forward<Token>(token),
        [socket = socket_, first] {
          return socket->try_read(std::span(static_cast<char*>(first.data()), first.size()));
        },
        first.size() == 0);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    asio::const_buffer first;
    for (auto at = asio::buffer_sequence_begin(buffers);
         first.size() == 0 && at != asio::buffer_sequence_end(buffers); ++at)
      first = *at;
    return start(
        std::forward<Token>(token),
        [socket = socket_, first] {
          return socket->try_write({static_cast<const char*>(first.data()), first.size()});
        },
        first.size() == 0);
  }

 private:
  // Tries, waits for what the attempt wants, tries again; never completes within its start.
  template <class Try>
  struct Operation {
    TlsSocket* socket;
    Try attempt;
    bool started = false;
    std::optional<Step> last = std::nullopt;

    template <class Self>
    void operator()(Self& self, error_code waited = {}) {
      if (last && last->wants == Step::Wants::kNothing) return complete(self);
      if (waited) {
        last = Step{.bytes = 0, .wants = Step::Wants::kNothing, .ended = false, .error = waited};
        return complete(self);
      }
      if (!last)
        last = attempt();
      else if (started)
        last = attempt();
      if (last->wants != Step::Wants::kNothing) {
        started = true;
        const auto direction = last->wants == Step::Wants::kWrite
                                   ? TlsSocket::Tcp::socket::wait_write
                                   : TlsSocket::Tcp::socket::wait_read;
        return socket->socket().async_wait(direction, std::move(self));
      }
      if (started) return complete(self);
      asio::post(socket->socket().get_executor(), std::move(self));
    }

    template <class Self>
    void complete(Self& self) {
      const Step step = *last;
      self.complete(step.ended ? error_code(asio::error::eof) : step.error, step.bytes);
    }
  };

  template <class Token, class Try>
  auto start(Token&& token, Try attempt, bool nothing_to_do) {
    Operation<Try> operation{socket_, std::move(attempt)};
    if (nothing_to_do) operation.last = Step{};
    return asio::async_compose<Token, void(error_code, std::size_t)>(std::move(operation), token,
                                                                     socket_->socket());
  }

  TlsSocket* socket_;
};

[[maybe_unused]] void teardown(beast::role_type, Stream& stream, error_code& error) {
  error = {};
  stream.tls().close();
}

template <class Done>
void async_teardown(beast::role_type, Stream& stream, Done&& done) {
  stream.tls().close();
  asio::post(stream.get_executor(),
             [done = std::forward<Done>(done)]() mutable { done(error_code()); });
}

void beast_close_socket(Stream& stream) { stream.tls().close(); }

}  // namespace

struct WebSocket::State {
  State(std::shared_ptr<ClientCore> shared, std::unique_ptr<TlsSocket> on, const Request& request)
      : core(std::move(shared)),
        tls(std::move(on)),
        stream(Stream(*tls)),
        what(shown(request, request.url)),
        deadline(core->executor, request.deadline, [this] { tls->close(); }) {}

  [[noreturn]] void fail(const error_code& error, Delivery delivery) {
    tls->close();
    if (error == ws::error::message_too_big || error == ws::error::buffer_overflow)
      throw TransportFailure(Reason::kTooLarge, delivery, what + ": a message is too large");
    if (error == beast::error::timeout)
      throw TransportFailure(Reason::kTimeout, delivery, what + ": nothing came for too long");
    if (error.category() == ws::make_error_code(ws::error::closed).category())
      throw TransportFailure(Reason::kProtocol, delivery, what + ": " + error.message());
    throw transport_failure(error, deadline.passed(), delivery, what);
  }

  std::shared_ptr<ClientCore> core;
  std::unique_ptr<TlsSocket> tls;
  ws::stream<Stream, false> stream;
  std::string what;
  std::string subprotocol;
  Deadline deadline;
};

namespace {

// Beast does not hand cancellation on to the stream below, so that is closed here instead.
template <class Start>
asio::awaitable<error_code> finish(TlsSocket& tls, Start& start) {
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) slot.assign([&tls](asio::cancellation_type) { tls.close(); });
  error_code wrong;
  try {
    co_await start(asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  } catch (const boost::system::system_error& error) {
    wrong = error.code();
  }
  slot.clear();
  co_return wrong;
}

void set_options(ws::stream<Stream, false>& stream, const Request& request,
                 const ClientOptions& client, const WebSocketOptions& options) {
  ws::stream_base::timeout timeout{};
  timeout.handshake_timeout = ws::stream_base::none();
  timeout.idle_timeout = options.idle_time_max;
  timeout.keep_alive_pings = true;
  stream.set_option(timeout);
  stream.read_message_max(options.message_bytes_max);
  stream.auto_fragment(false);
  stream.set_option(ws::stream_base::decorator([&](ws::request_type& head) {
    head.set(beast::http::field::user_agent, client.user_agent);
    if (!options.subprotocols.empty())
      head.set(beast::http::field::sec_websocket_protocol, options.subprotocols);
    for (const Headers* fields : {&request.headers, &request.credentials})
      for (const Header& field : fields->all()) head.set(field.name, field.value);
  }));
}

}  // namespace

asio::awaitable<WebSocket> Client::open_websocket(const Request& request,
                                                  const WebSocketOptions& options) {
  const auto core = core_;
  const Url& url = request.url;
  const auto until = std::min(request.deadline, Clock::now() + core->options.connect_timeout);
  const Proxy* const proxy = core->options.proxy.for_origin(url.origin);
  auto socket = co_await dial(core->executor, url.origin, core->tls, proxy, until);
  auto state = std::make_unique<WebSocket::State>(core, std::move(socket), request);
  set_options(state->stream, request, core->options, options);
  ws::response_type answer;
  const std::string host = url.origin.host_header(), target = url.target();
  const std::uint64_t before = state->tls->written();
  auto start = [&](auto token) {
    return state->stream.async_handshake(answer, host, target, std::move(token));
  };
  const error_code wrong = co_await finish(*state->tls, start);
  if (wrong == ws::error::upgrade_declined)
    throw TransportFailure(Reason::kProtocol, Delivery::kAnswered,
                           state->what + ": the service answered " +
                               std::to_string(answer.result_int()) + " instead of opening it");
  if (wrong)
    state->fail(wrong, state->tls->written() == before ? Delivery::kNotSent : Delivery::kUnknown);
  const auto chosen = answer[beast::http::field::sec_websocket_protocol];
  state->subprotocol.assign(chosen.data(), chosen.size());
  co_return WebSocket(std::move(state));
}

WebSocket::WebSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
WebSocket::WebSocket(WebSocket&&) noexcept = default;
WebSocket& WebSocket::operator=(WebSocket&&) noexcept = default;
WebSocket::~WebSocket() = default;

const std::string& WebSocket::subprotocol() const { return state_->subprotocol; }
void WebSocket::expires_at(Clock::time_point at) { state_->deadline.move_to(at); }

asio::awaitable<WebSocketMessage> WebSocket::read() {
  beast::flat_buffer buffer;
  auto start = [&](auto token) { return state_->stream.async_read(buffer, std::move(token)); };
  const error_code wrong = co_await finish(*state_->tls, start);
  WebSocketMessage message;
  if (wrong == ws::error::closed) {
    const ws::close_reason& reason = state_->stream.reason();
    message.close_code = reason.code;
    message.close_reason.assign(reason.reason.data(), reason.reason.size());
    co_return message;
  }
  if (wrong) state_->fail(wrong, Delivery::kAnswered);
  message.kind =
      state_->stream.got_text() ? WebSocketMessage::Kind::kText : WebSocketMessage::Kind::kBinary;
  message.data.assign(static_cast<const char*>(buffer.data().data()), buffer.data().size());
  co_return message;
}

asio::awaitable<void> WebSocket::send(WebSocketMessage::Kind kind, std::string_view data) {
  state_->stream.text(kind == WebSocketMessage::Kind::kText);
  const auto bytes = asio::buffer(data.data(), data.size());
  auto start = [&](auto token) { return state_->stream.async_write(bytes, std::move(token)); };
  const error_code wrong = co_await finish(*state_->tls, start);
  if (wrong) state_->fail(wrong, Delivery::kAnswered);
}

asio::awaitable<void> WebSocket::close() {
  const ws::close_reason reason(ws::close_code::normal);
  auto start = [&](auto token) { return state_->stream.async_close(reason, std::move(token)); };
  const error_code wrong = co_await finish(*state_->tls, start);
  if (wrong && wrong != ws::error::closed) state_->fail(wrong, Delivery::kAnswered);
}

}  // namespace berth::http
