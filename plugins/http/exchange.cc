#include "plugins/http/exchange.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <charconv>
#include <cstring>

#include "plugins/http/dial.h"

namespace berth::http {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBytes = 16 * 1024;  // one TLS record
constexpr std::size_t kUploadBytes = 16 * 1024;
constexpr std::chrono::seconds kLastWords{2};  // for an answer to a request that broke off

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "GET";
}

std::string shown(const Request& request, const Url& url) {
  return std::string(to_string(request.method)) + " " + url.shown();
}

ClientCore::ClientCore(asio::any_io_executor on, ClientOptions with)
    : executor(std::move(on)),
      options(std::move(with)),
      tls(options.trust_file),
      pool(std::make_shared<Pool>(executor, options.pool)),
      scratch(kReadBytes + options.head_bytes_max) {}

TransportFailure transport_failure(const boost::system::error_code& error, bool timed_out,
                                   Delivery delivery, const std::string& what) {
  const std::string how = "; " + std::string(to_string(delivery));
  if (timed_out)
    return {Reason::kTimeout, delivery, what + " did not end before its deadline" + how};
  if (error == asio::error::operation_aborted)
    return {Reason::kCancelled, delivery, what + " was cancelled" + how};
  const bool closed =
      error.category() == boost::system::system_category() || error == asio::error::eof;
  return {closed ? Reason::kClosed : Reason::kTls, delivery,
          what + ": the connection ended: " + error.message() + how};
}

// What a Reply is made of; the exchange fills it before there is one.
struct Reply::State {
  State(std::shared_ptr<ClientCore> shared, ConnectionPtr on, const Request& request, Url to)
      : core(std::move(shared)),
        connection(std::move(on)),
        url(std::move(to)),
        what(shown(request, url)),
        parser(request.method == Method::kHead ? ReplyParser::Body::kNone
                                               : ReplyParser::Body::kAsAnnounced,
               core->options.head_bytes_max),
        deadline(core->executor, request.deadline, [this] {
          if (connection) connection->socket->close();
        }) {}

  // Reads once and parses; false when the connection ended and the answer with it.
  asio::awaitable<bool> read();
  void finish();
  std::size_t parse(std::string_view bytes);
  [[noreturn]] void fail(const boost::system::error_code& error);
  [[noreturn]] void fail(Reason reason, const std::string& why) {
    drop();
    throw TransportFailure(reason, delivery(), what + ": " + why);
  }
  void drop() { connection.reset(); }
  Delivery delivery() const {
    if (parser.head_done()) return Delivery::kAnswered;
    return sent ? Delivery::kUnknown : Delivery::kNotSent;
  }

  std::shared_ptr<ClientCore> core;
  ConnectionPtr connection;
  Url url;
  std::string what;
  ReplyParser parser;
  std::string pending;  // parsed body bytes that nobody has fetched yet
  std::string fetched;  // what the caller looks at
  bool sent = false;    // some byte of the request went out
  bool broken = false;  // the request did: the connection is of no use after the answer
  Deadline deadline;
};

void Reply::State::fail(const boost::system::error_code& error) {
  drop();
  throw transport_failure(error, deadline.passed(), delivery(), what);
}

std::size_t Reply::State::parse(std::string_view bytes) {
  try {
    return parser.put(bytes, pending);
  } catch (const ParseError& error) {
    fail(error.too_large() ? Reason::kTooLarge : Reason::kProtocol, error.what());
  }
}

asio::awaitable<bool> Reply::State::read() {
  bool waited = false;
  for (;;) {
    if (deadline.passed() || !connection) fail(asio::error::operation_aborted);
    Connection& on = *connection;
    std::vector<char>& scratch = core->scratch;
    const std::size_t kept = on.rest.size();
    if (kept + kReadBytes > scratch.size()) fail(Reason::kTooLarge, "a part of it is too large");
    // An answer is not there yet when its request has just gone out.
    Step step;
    step.wants = Step::Wants::kRead;
    if (waited || !on.socket->is_drained())
      step = on.socket->try_read(std::span(scratch).subspan(kept, kReadBytes));
    if (step.error) fail(step.error);
    if (step.ended) {
      const bool whole = parser.head_done() && parser.ends_with_connection();
      if (!whole) fail(asio::error::eof);
      parser.put_end();
      co_return false;
    }
    if (step.bytes != 0) {
      std::memcpy(scratch.data(), on.rest.data(), kept);
      const std::string_view bytes(scratch.data(), kept + step.bytes);
      const std::size_t used = parse(bytes);
      on.rest.assign(bytes.substr(used));
      co_return true;
    }
    if (on.rest.empty()) std::string().swap(on.rest);
    waited = true;
    boost::system::error_code wrong;
    try {
      co_await on.socket->wait(step.wants);
    } catch (const boost::system::system_error& error) {
      wrong = error.code();
    }
    if (wrong) fail(wrong);
  }
}

// Gives the connection back once the answer is whole.
void Reply::State::finish() {
  if (!connection || !parser.done()) return;
  const bool reusable = parser.keep_alive() && connection->rest.empty() && !broken;
  if (reusable) core->pool->put(url.origin.authority(), std::move(connection));
  drop();
}

Reply::Reply(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reply::Reply(Reply&&) noexcept = default;
Reply& Reply::operator=(Reply&&) noexcept = default;
Reply::~Reply() = default;

int Reply::status() const { return state_->parser.status(); }
const Headers& Reply::headers() const { return state_->parser.headers(); }
const Url& Reply::url() const { return state_->url; }
std::optional<std::uint64_t> Reply::content_length() const {
  return state_->parser.content_length();
}
void Reply::expires_at(Clock::time_point at) { state_->deadline.move_to(at); }

asio::awaitable<std::string_view> Reply::next() {
  State& state = *state_;
  // What was fetched is done with, and so is its memory while nothing comes.
  std::string().swap(state.fetched);
  while (state.pending.empty() && !state.parser.done()) {
    const bool more = co_await state.read();
    if (!more) break;
  }
  state.finish();
  state.fetched = std::exchange(state.pending, {});
  co_return state.fetched;
}

asio::awaitable<std::string> Reply::text(std::size_t bytes_max) {
  const std::string too_large = "the answer has more than " + std::to_string(bytes_max) + " bytes";
  if (content_length().value_or(0) > bytes_max) state_->fail(Reason::kTooLarge, too_large);
  std::string out;
  for (;;) {
    const std::string_view piece = co_await next();
    if (piece.empty()) co_return out;
    if (out.size() + piece.size() > bytes_max) state_->fail(Reason::kTooLarge, too_large);
    out += piece;
  }
}

asio::awaitable<void> Reply::discard() {
  constexpr std::size_t kDiscardBytesMax = 64 * 1024;
  std::size_t seen = 0;
  try {
    while (seen <= kDiscardBytesMax) {
      const std::string_view piece = co_await next();
      if (piece.empty()) co_return;
      seen += piece.size();
    }
  } catch (const TransportFailure&) {
  }
  state_->drop();
}

namespace {

struct Wiped {
  std::string text;
  ~Wiped() { wipe(text); }
};

bool is_credential(std::string_view name) {
  return same_name(name, "authorization") || same_name(name, "cookie") ||
         same_name(name, "proxy-authorization");
}

std::string head_of(const Attempt& attempt, const std::string& user_agent) {
  const Request& request = *attempt.request;
  std::string out(to_string(request.method));
  out += " " + attempt.url->target() + " HTTP/1.1\r\nHost: " + attempt.url->origin.host_header();
  out += "\r\nUser-Agent: " + user_agent + "\r\nAccept-Encoding: identity\r\n";
  for (const Header& field : request.headers.all())
    if (attempt.with_credentials || !is_credential(field.name))
      out += field.name + ": " + field.value + "\r\n";
  if (attempt.with_credentials)
    for (const Header& field : request.credentials.all())
      out += field.name + ": " + field.value + "\r\n";
  if (request.source && !request.source_bytes)
    out += "Transfer-Encoding: chunked\r\n";
  else if (request.source)
    out += "Content-Length: " + std::to_string(*request.source_bytes) + "\r\n";
  else if (!request.body.empty() ||
           (request.method != Method::kGet && request.method != Method::kHead &&
            request.method != Method::kDelete))
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n";
}

asio::awaitable<void> write(Reply::State& state, std::string_view bytes) {
  TlsSocket& socket = *state.connection->socket;
  const std::uint64_t before = socket.written();
  while (!bytes.empty()) {
    if (state.deadline.passed()) state.fail(asio::error::operation_aborted);
    const Step step = socket.try_write(bytes);
    state.sent = state.sent || socket.written() != before;
    if (step.error) throw boost::system::system_error(step.error);
    bytes.remove_prefix(step.bytes);
    if (step.wants != Step::Wants::kNothing) co_await socket.wait(step.wants);
  }
}

std::string chunk_head(std::size_t size) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

asio::awaitable<void> write_source(Reply::State& state, Attempt& attempt) {
  const Request& request = *attempt.request;
  std::vector<char> buffer(kUploadBytes);
  std::uint64_t total = 0;
  attempt.took_body = true;
  for (;;) {
    const std::span<char> into(buffer);
    const std::size_t got = co_await request.source(into);
    total += got;
    // The announced size is the frame of the message: a body of another size would shift whatever
    // comes next on the connection.
    const bool wrong = request.source_bytes && (total > *request.source_bytes ||
                                                (got == 0 && total < *request.source_bytes));
    if (wrong) state.fail(Reason::kInvalid, "its body is not as long as was announced");
    if (!request.source_bytes) co_await write(state, chunk_head(got));
    co_await write(state, std::string_view(buffer.data(), got));
    if (!request.source_bytes) co_await write(state, "\r\n");
    if (got == 0) co_return;
  }
}

// Writes the request. When that breaks off after some of it went out, the service may have answered
// all the same, for instance that the body is too large.
asio::awaitable<void> write_request(Reply::State& state, Attempt& attempt) {
  boost::system::error_code wrong;
  try {
    Wiped head{head_of(attempt, state.core->options.user_agent)};
    // One record, and usually one packet, for a small request.
    if (!attempt.request->source && attempt.request->body.size() <= kUploadBytes)
      head.text += attempt.request->body;
    co_await write(state, head.text);
    if (attempt.request->source)
      co_await write_source(state, attempt);
    else if (attempt.request->body.size() > kUploadBytes)
      co_await write(state, attempt.request->body);
  } catch (const boost::system::system_error& error) {
    wrong = error.code();
  }
  if (!wrong) co_return;
  if (!state.sent || wrong == asio::error::operation_aborted) state.fail(wrong);
  state.broken = true;
  state.deadline.move_to(std::min(attempt.request->deadline, Clock::now() + kLastWords));
}

}  // namespace

asio::awaitable<Reply> exchange(std::shared_ptr<ClientCore> core, Attempt& attempt) {
  const Request& request = *attempt.request;
  const Url& url = *attempt.url;
  const auto now = Clock::now();
  if (now >= request.deadline)
    throw TransportFailure(Reason::kTimeout, Delivery::kNotSent,
                           shown(request, url) + " was not sent: its deadline had passed");
  ConnectionPtr connection = attempt.fresh ? nullptr : core->pool->take(url.origin.authority());
  attempt.was_reused = connection != nullptr;
  if (!connection) {
    connection = std::make_unique<Connection>();
    const auto until = std::min(request.deadline, now + core->options.connect_timeout);
    const Proxy* const proxy = core->options.proxy.for_origin(url.origin);
    connection->socket = co_await dial(core->executor, url.origin, core->tls, proxy, until);
  }
  ++connection->exchanges;
  auto state = std::make_unique<Reply::State>(core, std::move(connection), request, url);
  co_await write_request(*state, attempt);
  while (!state->parser.head_done()) co_await state->read();
  if (state->broken) state->deadline.move_to(request.deadline);
  if (state->parser.status() == 101)
    state->fail(Reason::kProtocol, "the service changed to another protocol");
  const auto encoding = state->parser.headers().find("content-encoding");
  if (encoding && !encoding->empty() && !same_name(*encoding, "identity"))
    state->fail(Reason::kProtocol, "the answer is compressed, which was not asked for");
  state->finish();
  co_return Reply(std::move(state));
}

}  // namespace berth::http
