// Messages: what a case's process tells its parent, one JSON object a line.
//
// Written as it happens, so that the parent knows where a process was that no longer speaks. Bounded:
// a flood of progress is cut, a result is not.
#ifndef BERTH_CORE_CONFORMANCE_MESSAGES_H_
#define BERTH_CORE_CONFORMANCE_MESSAGES_H_

#include <boost/json/object.hpp>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plugin/abi_reply.h"

namespace berth::conformance {

class Messages {
 public:
  explicit Messages(int fd) : fd_(fd) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void progress(std::string_view operation, std::string_view stage);
  void note(std::string_view text);
  // What begins from here on is cleaning, not the case.
  void body_over();
  // How it went: what the body returned, what was seen, which names are still alive.
  void result(const Status& status, const std::vector<plugin::Violation>& violations,
              const std::vector<std::string>& left);
  void send(const boost::json::object& message, bool may_drop = false);

 private:
  const int fd_;
  std::mutex mutex_;
  std::size_t sent_bytes_ = 0;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_MESSAGES_H_
