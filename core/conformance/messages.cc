#include "core/conformance/messages.h"

#include <boost/json/array.hpp>

#include "core/base/json.h"
#include "core/os/fd.h"

namespace berth::conformance {
namespace {

namespace json = boost::json;

constexpr std::size_t kProgressBytesMax = std::size_t{1} << 20;
constexpr std::size_t kViolationsMax = 32;

}  // namespace

void Messages::progress(std::string_view operation, std::string_view stage) {
  json::object message;
  if (!operation.empty()) message["at"] = to_valid_utf8(operation);
  if (!stage.empty()) message["stage"] = to_valid_utf8(stage);
  send(message, true);
}

void Messages::note(std::string_view text) {
  send(json::object{{"note", to_valid_utf8(text)}}, true);
}

void Messages::body_over() { send(json::object{{"over", true}}); }

void Messages::result(const Status& status, const std::vector<plugin::Violation>& violations,
                      const std::vector<std::string>& left) {
  json::array seen;
  for (const plugin::Violation& violation : violations) {
    if (seen.size() >= kViolationsMax) break;
    seen.push_back(json::array{violation.clause, to_valid_utf8(violation.text)});
  }
  json::array names;
  for (const std::string& name : left) names.emplace_back(name);
  json::object message{{"result", status ? "ok" : std::string(to_string(status.error().kind()))},
                       {"violations", std::move(seen)},
                       {"left", std::move(names)}};
  if (!status) message["text"] = to_valid_utf8(status.error().message());
  send(message);
}

void Messages::send(const json::object& message, bool may_drop) {
  const std::string line = to_json_text(message) + "\n";
  const std::lock_guard lock(mutex_);
  if (may_drop && sent_bytes_ + line.size() > kProgressBytesMax) return;
  sent_bytes_ += line.size();
  // A parent that is gone ends this process by other means.
  static_cast<void>(os::write_all(fd_, line));
}

}  // namespace berth::conformance
