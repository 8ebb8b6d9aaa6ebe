// Faults: what a stand-in was told to get wrong, by endpoint and by the count of its calls.
//
//   {"endpoint": "POST /sandbox", "do": "drop", "when": "after", "nth": 1, "times": 1}
//
// `endpoint` is a line of the service's endpoints.txt, or "*". The fault holds from the nth call of that
// endpoint after it was given (1: the next one), for `times` calls (0: for ever).
//
//   drop      closes the connection without an answer; when "before": nothing is done; "after": it is done
//   answer    answers `status`, `headers`, `body` and `type` instead of its own; before or after doing it
//   drip      answers so before doing it, but line by line, `pauseMs` apart; to an upgrade: a message for each
//   stall     answers nothing and keeps the connection; before or after doing it
//   twice     sends the answer twice
//   cut       closes after `bytes` bytes of the body, or of what is streamed
//   expire    from this call on the token it came with is refused
//   hide      what this call makes is not seen by the next `looks` looks at it, one by one or in lists
//   linger    what this call deletes is seen as it was by the next `looks` looks at it
//   flap      what this call deletes is in the next `looks` lists as it was, and nowhere else
//   state     what this call makes shows the state `state` for the next `looks` looks
//   behind    what a command has written is told without its last `bytes` bytes, as by a log not yet drained
//   page      this page of a list leaves out its last item, which no page has then, and repeats its first
#ifndef BERTH_TESTS_STANDINS_SERVER_FAULTS_H_
#define BERTH_TESTS_STANDINS_SERVER_FAULTS_H_

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tests/standins/server/http.h"

namespace berth::standins {

struct Fault {
  enum class Kind { kDrop, kAnswer, kDrip, kStall, kTwice, kCut, kExpire, kHide, kLinger, kFlap, kState, kBehind, kPage };

  std::string endpoint;
  Kind kind = Kind::kDrop;
  std::string name;        // the kind as it was written
  bool after = false;      // when
  std::uint64_t nth = 1;
  std::uint64_t times = 1;
  std::uint64_t bytes = 0;
  std::uint64_t looks = 1;
  std::uint64_t pause_ms = 0;
  bool upgrade = false;    // a drip holds for upgrades only
  std::string state;
  Response answer;

  std::uint64_t seen = 0;  // calls of the endpoint since
};

class Faults {
 public:
  // Adds all of a list, or nothing.
  Status add(const boost::json::array& list, const std::vector<std::string>& endpoints);
  void clear() { faults_.clear(); }

  // What holds for this call. Counts it.
  std::vector<Fault> of_call(std::string_view endpoint);

 private:
  std::vector<Fault> faults_;
};

// The first of this kind, or null.
const Fault* find(const std::vector<Fault>& faults, Fault::Kind kind);

// Performs what of the faults is between service and client.
class FaultyExchange final : public Exchange {
 public:
  FaultyExchange(Exchange& inner, const std::vector<Fault>& faults) : inner_(inner), faults_(faults) {}

  // What the client was told; 0: nothing.
  int status() const { return status_; }
  bool dropped() const { return dropped_; }

  const Request& request() const override { return inner_.request(); }
  Task<void> answer(Response response) override;
  Task<bool> begin(Response head) override;
  Task<bool> write(std::string bytes) override;
  Task<void> finish() override;
  void drop() override;
  Task<void> stall() override { return inner_.stall(); }
  Task<bool> upgrade(std::string protocol) override;
  Task<std::optional<Message>> receive() override { return inner_.receive(); }
  Task<bool> send(Message message) override;
  Task<void> close(int code, std::string reason) override;

 private:
  // True when the answer is not to be sent as it is.
  Task<bool> replaced();

  Exchange& inner_;
  const std::vector<Fault>& faults_;
  int status_ = 0;
  bool dropped_ = false;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_FAULTS_H_
