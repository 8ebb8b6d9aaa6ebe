// One host's connection to a keeper, as the keeper holds it.
#ifndef BERTH_CORE_PLUGIN_KEEPER_CONNECTION_H_
#define BERTH_CORE_PLUGIN_KEEPER_CONNECTION_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/fd.h"
#include "core/plugin/wire.h"

namespace berth::plugin {

// Reading belongs to the loop's thread, sending to any. What it has open and what it made are guarded by
// whoever owns it.
class KeeperConnection {
 public:
  enum class Phase {
    kGreeting,  // has not said yet what it wants
    kWaiting,   // wants to be attached, or to know something
    kAttached,
    kGone,      // its host has left; its operations may still be open
  };

  KeeperConnection(std::uint32_t number, os::Fd socket, Phase phase);

  std::uint32_t number() const { return number_; }
  int socket() const { return socket_.get(); }

  // Takes what has arrived. False at the end or when it is broken.
  bool receive();
  // The greeting once it is whole, without its line break; nothing yet otherwise. Sets `broken` when it
  // never will be one.
  std::optional<std::string> take_greeting(bool* broken);
  // The next whole frame, whose payload lasts until the next call of receive().
  std::optional<Frame> take_frame(bool* broken);

  // Waits a bounded while for a host that does not read, and gives it up then.
  void send(std::string_view first, std::string_view second = {});
  void end_sending();
  void close();

  Phase phase = Phase::kGreeting;
  std::map<OpId, Slot> open;                // by the number that the keeper gave
  std::map<OpId, std::string> names;        // of the sandbox of each create and destroy among them
  std::set<std::string> made;               // sandboxes whose create was done and whose destroy was not
  Instant left_at{};                        // when its host was gone

 private:
  const std::uint32_t number_;
  os::Fd socket_;
  std::mutex sending_;
  bool broken_ = false;
  std::vector<char> inbox_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_KEEPER_CONNECTION_H_
