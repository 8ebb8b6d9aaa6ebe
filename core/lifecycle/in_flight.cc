#include "core/lifecycle/in_flight.h"

#include <utility>

#include "core/lifecycle/with_sandbox.h"

namespace berth {

std::shared_ptr<InFlight> make_in_flight() { return std::make_shared<InFlight>(); }

InFlight::Place::Place(std::shared_ptr<InFlight> owner, std::string name)
    : owner_(std::move(owner)), name_(std::move(name)) {}

InFlight::Place::~Place() {
  const auto found = owner_->entries_.find(name_);
  if (found == owner_->entries_.end()) return;
  const std::shared_ptr<Signal> left = std::move(found->second);
  owner_->entries_.erase(found);
  left->notify();
}

std::unique_ptr<InFlight::Place> InFlight::try_enter(const std::string& name) {
  const auto [entry, inserted] = entries_.try_emplace(name);
  if (!inserted) return nullptr;
  entry->second = std::make_shared<Signal>();
  return std::make_unique<Place>(shared_from_this(), name);
}

Task<void> InFlight::wait(std::string name, Cancellation* cancellation) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) co_return;
  const std::shared_ptr<Signal> left = found->second;
  Cancellation::Subscription subscription;
  if (cancellation != nullptr) {
    if (cancellation->requested()) co_return;
    subscription = cancellation->subscribe([left] { left->notify(); });
  }
  co_await left->wait();
}

}  // namespace berth
