#include "tests/standins/server/front.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

namespace berth::standins {
namespace {

// Whether `path` fits "/sandbox/{id}/start"; what stands in braces is taken out.
bool fits(std::string_view pattern, const std::vector<std::string>& path, std::vector<std::string>* parameters) {
  parameters->clear();
  std::size_t at = 0;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the slash
    const std::size_t end = pattern.find('/');
    const std::string_view segment = pattern.substr(0, end);
    pattern.remove_prefix(end == std::string_view::npos ? pattern.size() : end);
    if (segment.empty()) continue;
    if (at == path.size()) return false;
    if (segment.front() == '{') {
      parameters->push_back(path[at]);
    } else if (segment != path[at]) {
      return false;
    }
    ++at;
  }
  return at == path.size();
}

// A fault that takes the place of doing anything.
const Fault* instead(const std::vector<Fault>& faults, const Request& request) {
  for (const Fault& fault : faults) {
    const bool replaces = fault.kind == Fault::Kind::kDrop || fault.kind == Fault::Kind::kAnswer ||
                          fault.kind == Fault::Kind::kDrip || fault.kind == Fault::Kind::kStall;
    if (replaces && !fault.after && (request.upgrade || !fault.upgrade)) return &fault;
  }
  return nullptr;
}

Task<void> drip(FaultyExchange& exchange, const Fault& fault) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  const bool socket = exchange.request().upgrade;
  Response head = fault.answer;
  std::string_view rest = fault.answer.body;
  head.body.clear();
  std::string protocol;
  bool open = socket ? co_await exchange.upgrade(std::move(protocol)) : co_await exchange.begin(std::move(head));
  while (open && !rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    std::string line(rest.substr(0, end));
    rest.remove_prefix(end);
    if (socket) {
      Message message{false, std::move(line)};
      open = co_await exchange.send(std::move(message));
    } else {
      open = co_await exchange.write(std::move(line));
    }
    timer.expires_after(std::chrono::milliseconds(fault.pause_ms));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  std::string reason;
  if (open && socket) co_await exchange.close(1000, std::move(reason));
  if (open && !socket) co_await exchange.finish();
}

}  // namespace

Front::Front(Service& service, const std::filesystem::path& journal) : service_(service), journal_(journal) {
  for (const Endpoint& endpoint : service.endpoints()) names_.push_back(endpoint.name);
}

// Of several patterns the first in the service's order.
const Endpoint* Front::match(const Request& request, std::vector<std::string>* parameters) const {
  std::vector<std::string> path = request.segments;
  if (path.empty() || !service_.strip(&path)) return nullptr;
  for (const Endpoint& endpoint : service_.endpoints()) {
    const std::size_t space = endpoint.name.find(' ');
    if (endpoint.name.compare(0, space, request.method) != 0) continue;
    if (fits(std::string_view(endpoint.name).substr(space + 1), path, parameters)) return &endpoint;
  }
  return nullptr;
}

bool Front::admitted(const Request& request, const std::vector<Fault>& faults) {
  if (service_.is_signed(request)) return true;
  const std::string_view token = request.header("authorization");
  if (find(faults, Fault::Kind::kExpire) != nullptr) expired_.insert(std::string(token));
  return token.starts_with("Bearer ") && token.size() > 7 && !expired_.contains(token);
}

Task<void> Front::serve(Exchange& inner) {
  const Request& request = inner.request();
  std::vector<std::string> parameters;
  const Endpoint* endpoint = match(request, &parameters);
  std::vector<Fault> faults;
  if (endpoint != nullptr) faults = faults_.of_call(endpoint->name);
  FaultyExchange exchange(inner, faults);
  Call call{exchange, request, std::move(parameters), faults};
  if (endpoint == nullptr) {
    Response response = service_.refusal(request, 404, "Cannot " + request.method + " " + request.path);
    co_await exchange.answer(std::move(response));
  } else {
    co_await perform(*endpoint, call, exchange);
  }
  JournalEntry entry;
  if (endpoint != nullptr) entry.endpoint = endpoint->name;
  entry.method = request.method;
  entry.path = request.path;
  entry.status = exchange.status();
  for (const Fault& fault : faults) entry.faults.push_back(fault.name);
  journal_.add(entry);
}

Task<void> Front::perform(const Endpoint& endpoint, Call& call, FaultyExchange& exchange) {
  if (const Fault* fault = instead(call.faults, call.request)) {
    if (fault->kind == Fault::Kind::kDrop) {
      exchange.drop();
    } else if (fault->kind == Fault::Kind::kStall) {
      co_await exchange.stall();
    } else if (fault->kind == Fault::Kind::kDrip) {
      co_await drip(exchange, *fault);
    } else {
      Response other = fault->answer;
      co_await exchange.answer(std::move(other));
    }
    co_return;
  }
  if (!admitted(call.request, call.faults)) {
    Response response = service_.refusal(call.request, 401, "Invalid credentials");
    co_await exchange.answer(std::move(response));
    co_return;
  }
  std::exception_ptr thrown;
  try {
    co_await endpoint.run(call);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (!thrown) co_return;
  std::string what = "unknown";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {
  }
  std::fprintf(stderr, "%s ended by an exception: %s\n", endpoint.name.c_str(), what.c_str());
  Response response = service_.refusal(call.request, 400, "The request could not be read: " + what);
  co_await exchange.answer(std::move(response));
}

boost::json::object Front::control(const boost::json::object& command) {
  boost::json::object answer;
  if (const auto* list = command.if_contains("faults"); list != nullptr && list->is_array()) {
    if (const Status added = add_faults(list->get_array()); !added) {
      answer["error"] = added.error().message();
    } else {
      answer["faults"] = list->get_array().size();
    }
  } else if (command.contains("clear")) {
    faults_.clear();
    journal_.clear();
    expired_.clear();
    answer["clear"] = true;
  } else if (command.contains("journal")) {
    answer["journal"] = journal_.entries();
  } else if (command.contains("state")) {
    answer["state"] = service_.state();
  } else {
    answer["error"] = "one of faults, clear, journal and state is asked for";
  }
  return answer;
}

}  // namespace berth::standins
