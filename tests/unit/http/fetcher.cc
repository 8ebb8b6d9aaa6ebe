#include "tests/unit/http/fetcher.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>

namespace berth::http::tests {

namespace asio = boost::asio;

struct Fetcher::Loop {
  explicit Loop(ClientOptions options) : client(context.get_executor(), std::move(options)) {}

  asio::awaitable<void> one(const Request& request, std::size_t bytes_max, Fetched& out) {
    try {
      Reply reply = co_await client.send(request);
      out.status = reply.status();
      out.headers = reply.headers();
      out.from = reply.url().text();
      out.body = co_await reply.text(bytes_max);
    } catch (const TransportFailure& failure) {
      out.failure = failure;
    }
  }

  // Runs until everything started is over; an idle connection's timer does not count.
  void run(int& left) {
    context.restart();
    while (left > 0 && context.run_one() > 0) {
    }
  }

  auto done(int& left, std::exception_ptr& wrong) {
    return [&left, &wrong](std::exception_ptr thrown) {
      --left;
      if (thrown) wrong = thrown;
    };
  }

  asio::io_context context{1};
  Client client;
};

Fetcher::Fetcher(ClientOptions options) : loop_(std::make_unique<Loop>(std::move(options))) {}
Fetcher::~Fetcher() = default;

Client& Fetcher::client() { return loop_->client; }

Fetched Fetcher::fetch(const Request& request, std::size_t body_bytes_max) {
  Fetched out;
  int left = 1;
  std::exception_ptr wrong;
  asio::co_spawn(loop_->context, loop_->one(request, body_bytes_max, out),
                 loop_->done(left, wrong));
  loop_->run(left);
  if (wrong) std::rethrow_exception(wrong);
  return out;
}

Fetched Fetcher::fetch_cancelled(const Request& request, std::chrono::milliseconds time) {
  Fetched out;
  int left = 1;
  std::exception_ptr wrong;
  asio::cancellation_signal signal;
  asio::steady_timer timer(loop_->context, time);
  timer.async_wait([&](const boost::system::error_code& error) {
    if (!error) signal.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(loop_->context, loop_->one(request, 1 << 20, out),
                 asio::bind_cancellation_slot(signal.slot(), loop_->done(left, wrong)));
  loop_->run(left);
  if (wrong) std::rethrow_exception(wrong);
  return out;
}

std::vector<Fetched> Fetcher::fetch_all(const std::vector<Request>& requests) {
  std::vector<Fetched> out(requests.size());
  int left = static_cast<int>(requests.size());
  std::exception_ptr wrong;
  for (std::size_t i = 0; i < requests.size(); ++i)
    asio::co_spawn(loop_->context, loop_->one(requests[i], 1 << 20, out[i]),
                   loop_->done(left, wrong));
  loop_->run(left);
  if (wrong) std::rethrow_exception(wrong);
  return out;
}

std::optional<TransportFailure> Fetcher::talk(const Talk& talk) {
  int left = 1;
  std::exception_ptr wrong;
  asio::co_spawn(loop_->context, talk(loop_->client), loop_->done(left, wrong));
  loop_->run(left);
  try {
    if (wrong) std::rethrow_exception(wrong);
  } catch (const TransportFailure& failure) {
    return failure;
  }
  return std::nullopt;
}

std::optional<TransportFailure> Fetcher::talk_cancelled(const Talk& talk,
                                                        std::chrono::milliseconds time) {
  int left = 1;
  std::exception_ptr wrong;
  asio::cancellation_signal signal;
  asio::steady_timer timer(loop_->context, time);
  timer.async_wait([&](const boost::system::error_code& error) {
    if (!error) signal.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(loop_->context, talk(loop_->client),
                 asio::bind_cancellation_slot(signal.slot(), loop_->done(left, wrong)));
  loop_->run(left);
  try {
    if (wrong) std::rethrow_exception(wrong);
  } catch (const TransportFailure& failure) {
    return failure;
  }
  return std::nullopt;
}

}  // namespace berth::http::tests
