#include "tests/standins/server/faults.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

namespace berth::standins {
namespace {

namespace json = boost::json;

constexpr std::pair<std::string_view, Fault::Kind> kKinds[] = {
    {"drop", Fault::Kind::kDrop},     {"answer", Fault::Kind::kAnswer}, {"drip", Fault::Kind::kDrip}, {"stall", Fault::Kind::kStall},
    {"twice", Fault::Kind::kTwice},   {"cut", Fault::Kind::kCut},       {"expire", Fault::Kind::kExpire},
    {"hide", Fault::Kind::kHide},     {"linger", Fault::Kind::kLinger}, {"flap", Fault::Kind::kFlap},     {"state", Fault::Kind::kState},
    {"behind", Fault::Kind::kBehind}, {"page", Fault::Kind::kPage}};

Error wrong(std::string message) {
  return Error(ErrorKind::kInvalidArgument, "a fault " + std::move(message));
}

Status read_text(const json::value& value, std::string* into, std::string_view key) {
  if (!value.is_string()) return fail(wrong("has a " + std::string(key) + " that is not text"));
  *into = std::string(value.get_string());
  return {};
}

Status read_number(const json::value& value, std::uint64_t* into, std::string_view key) {
  if (!value.is_int64() || value.get_int64() < 0) {
    return fail(wrong("has a " + std::string(key) + " that is no number from 0"));
  }
  *into = static_cast<std::uint64_t>(value.get_int64());
  return {};
}

Status read_key(std::string_view key, const json::value& value, Fault* fault) {
  if (key == "endpoint") return read_text(value, &fault->endpoint, key);
  if (key == "state") return read_text(value, &fault->state, key);
  if (key == "body") return read_text(value, &fault->answer.body, key);
  if (key == "type") return read_text(value, &fault->answer.type, key);
  if (key == "nth") return read_number(value, &fault->nth, key);
  if (key == "times") return read_number(value, &fault->times, key);
  if (key == "bytes") return read_number(value, &fault->bytes, key);
  if (key == "looks") return read_number(value, &fault->looks, key);
  if (key == "pauseMs") return read_number(value, &fault->pause_ms, key);
  if (key == "upgrade" && value.is_bool()) {
    fault->upgrade = value.get_bool();
    return {};
  }
  if (key == "do") {
    BERTH_CHECK_OK(read_text(value, &fault->name, key));
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const auto& one) { return one.first == fault->name; });
    if (kind == std::end(kKinds)) return fail(wrong("does '" + fault->name + "', which nothing is called"));
    fault->kind = kind->second;
    return {};
  }
  if (key == "when") {
    std::string when;
    BERTH_CHECK_OK(read_text(value, &when, key));
    if (when != "before" && when != "after") return fail(wrong("is neither before nor after"));
    fault->after = when == "after";
    return {};
  }
  if (key == "status") {
    std::uint64_t status = 0;
    BERTH_CHECK_OK(read_number(value, &status, key));
    if (status < 200 || status > 599) return fail(wrong("has a status that is none"));
    fault->answer.status = static_cast<int>(status);
    return {};
  }
  if (key == "headers") {
    if (!value.is_object()) return fail(wrong("has headers that are no object"));
    for (const auto& [name, text] : value.get_object()) {
      std::string header;
      BERTH_CHECK_OK(read_text(text, &header, name));
      fault->answer.headers.emplace_back(std::string(name), std::move(header));
    }
    return {};
  }
  return fail(wrong("has '" + std::string(key) + "', which means nothing"));
}

}  // namespace

Status Faults::add(const json::array& list, const std::vector<std::string>& endpoints) {
  std::vector<Fault> added;
  for (const json::value& value : list) {
    if (!value.is_object()) return fail(wrong("is no object"));
    Fault fault;
    for (const auto& [key, member] : value.get_object()) BERTH_CHECK_OK(read_key(key, member, &fault));
    if (fault.name.empty()) return fail(wrong("says not what to do"));
    const bool known = fault.endpoint == "*" ||
                       std::find(endpoints.begin(), endpoints.end(), fault.endpoint) != endpoints.end();
    if (!known) return fail(wrong("is of '" + fault.endpoint + "', which is no endpoint here"));
    added.push_back(std::move(fault));
  }
  for (Fault& fault : added) faults_.push_back(std::move(fault));
  return {};
}

std::vector<Fault> Faults::of_call(std::string_view endpoint) {
  std::vector<Fault> now;
  for (Fault& fault : faults_) {
    if (fault.endpoint != "*" && fault.endpoint != endpoint) continue;
    ++fault.seen;
    const bool begun = fault.seen >= fault.nth;
    if (begun && (fault.times == 0 || fault.seen < fault.nth + fault.times)) now.push_back(fault);
  }
  return now;
}

const Fault* find(const std::vector<Fault>& faults, Fault::Kind kind) {
  const auto found = std::find_if(faults.begin(), faults.end(),
                                  [kind](const Fault& fault) { return fault.kind == kind; });
  return found == faults.end() ? nullptr : &*found;
}

Task<bool> FaultyExchange::replaced() {
  for (const Fault& fault : faults_) {
    if (!fault.after) continue;
    if (fault.kind == Fault::Kind::kDrop) {
      drop();
      co_return true;
    }
    if (fault.kind == Fault::Kind::kStall) {
      dropped_ = true;
      co_await inner_.stall();
      co_return true;
    }
    if (fault.kind == Fault::Kind::kAnswer) {
      status_ = fault.answer.status;
      Response other = fault.answer;
      co_await inner_.answer(std::move(other));
      co_return true;
    }
  }
  co_return false;
}

Task<void> FaultyExchange::answer(Response response) {
  if (dropped_) co_return;
  const bool other = co_await replaced();
  if (other) co_return;
  status_ = response.status;
  if (const Fault* cut = find(faults_, Fault::Kind::kCut)) {
    std::string body = std::exchange(response.body, {});
    body.resize(std::min<std::size_t>(body.size(), cut->bytes));
    co_await inner_.begin(std::move(response));
    co_await inner_.write(std::move(body));
    drop();
    co_return;
  }
  if (find(faults_, Fault::Kind::kTwice) != nullptr) {
    Response first = response;
    co_await inner_.answer(std::move(first));
  }
  co_await inner_.answer(std::move(response));
}

Task<bool> FaultyExchange::begin(Response head) {
  if (dropped_) co_return false;
  const bool other = co_await replaced();
  if (other) co_return false;
  status_ = head.status;
  const bool begun = co_await inner_.begin(std::move(head));
  co_return begun;
}

Task<bool> FaultyExchange::write(std::string bytes) {
  if (dropped_) co_return false;
  const Fault* cut = find(faults_, Fault::Kind::kCut);
  if (cut == nullptr || sent_bytes_ + bytes.size() <= cut->bytes) {
    sent_bytes_ += bytes.size();
    const bool written = co_await inner_.write(std::move(bytes));
    co_return written;
  }
  bytes.resize(cut->bytes - sent_bytes_);
  co_await inner_.write(std::move(bytes));
  drop();
  co_return false;
}

Task<void> FaultyExchange::finish() {
  if (dropped_) co_return;
  // A stream that was shorter than the cut ends without its end all the same.
  if (find(faults_, Fault::Kind::kCut) != nullptr) {
    drop();
    co_return;
  }
  co_await inner_.finish();
}

void FaultyExchange::drop() {
  dropped_ = true;
  inner_.drop();
}

Task<bool> FaultyExchange::upgrade(std::string protocol) {
  if (dropped_) co_return false;
  const bool other = co_await replaced();
  if (other) co_return false;
  status_ = 101;
  const bool open = co_await inner_.upgrade(std::move(protocol));
  co_return open;
}

Task<bool> FaultyExchange::send(Message message) {
  if (dropped_) co_return false;
  const Fault* cut = find(faults_, Fault::Kind::kCut);
  if (cut != nullptr && sent_bytes_ + message.bytes.size() > cut->bytes) {
    drop();
    co_return false;
  }
  sent_bytes_ += message.bytes.size();
  const bool sent = co_await inner_.send(std::move(message));
  co_return sent;
}

Task<void> FaultyExchange::close(int code, std::string reason) {
  if (!dropped_) co_await inner_.close(code, std::move(reason));
}

}  // namespace berth::standins
