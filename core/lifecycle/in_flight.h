// What this process works on at the moment, by intent name: so that concurrent deliveries of one
// call wait for each other, and nothing is reconciled while a call still has it in hand.
//
// One event loop; not thread-safe. Shared by everything that works for one provider.
#ifndef BERTH_CORE_LIFECYCLE_IN_FLIGHT_H_
#define BERTH_CORE_LIFECYCLE_IN_FLIGHT_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/task.h"
#include "core/lifecycle/provider.h"
#include "core/lifecycle/signal.h"

namespace berth {

class InFlight : public std::enable_shared_from_this<InFlight> {
 public:
  // Whoever holds the place works on the intent; the place is free again when it is destroyed.
  class Place {
   public:
    Place(std::shared_ptr<InFlight> owner, std::string name);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

   private:
    std::shared_ptr<InFlight> owner_;
    std::string name_;
  };

  // Null when someone holds it.
  std::unique_ptr<Place> try_enter(const std::string& name);
  bool contains(const std::string& name) const { return entries_.contains(name); }
  // Returns once the holder of `name` has left, or when `cancellation` (may be null) rises.
  Task<void> wait(std::string name, Cancellation* cancellation);

  // The provider's scope, asked once: it is fixed when a provider is opened.
  std::optional<Scope> scope;

 private:
  std::unordered_map<std::string, std::shared_ptr<Signal>> entries_;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_IN_FLIGHT_H_
