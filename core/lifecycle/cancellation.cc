#include "core/lifecycle/cancellation.h"

#include <utility>

namespace berth {

struct Cancellation::Subscription::Entry {
  std::function<void()> on_rise;  // empty once the subscription has ended
};

Cancellation::Subscription::Subscription(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}

Cancellation::Subscription& Cancellation::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    reset();
    entry_ = std::move(other.entry_);
  }
  return *this;
}

Cancellation::Subscription::~Subscription() { reset(); }

void Cancellation::Subscription::reset() {
  if (entry_ == nullptr) return;
  // The entry stays in the list until the next subscribe or rise sweeps it, so that a subscriber
  // may end any subscription while the list is being walked.
  entry_->on_rise = nullptr;
  entry_.reset();
}

void Cancellation::request(Reason reason) {
  if (level_ != Level::kNone) return;
  reason_ = reason;
  rise(Level::kRequested);
}

void Cancellation::abandon() {
  if (level_ == Level::kAbandoned) return;
  rise(Level::kAbandoned);
}

Cancellation::Subscription Cancellation::subscribe(std::function<void()> on_rise) {
  std::erase_if(entries_, [](const auto& entry) { return entry->on_rise == nullptr; });
  auto entry = std::make_shared<Subscription::Entry>();
  entry->on_rise = std::move(on_rise);
  entries_.push_back(entry);
  if (level_ != Level::kNone) {
    const std::function<void()> call = entry->on_rise;
    call();
  }
  return Subscription(std::move(entry));
}

void Cancellation::rise(Level level) {
  level_ = level;
  // A copy: subscribers may subscribe or unsubscribe while they are called. A call keeps its own
  // function alive, since it may end its own subscription.
  const std::list<std::shared_ptr<Subscription::Entry>> entries = entries_;
  for (const auto& entry : entries) {
    const std::function<void()> call = entry->on_rise;
    if (call) call();
  }
}

}  // namespace berth
