// Cancellation: one caller's wish to stop, seen by everyone who works for that caller.
//
// Lives on the event loop's thread; not thread-safe. Level only rises. Subscribers are called once
// per rise, in order of subscription, from inside request() or abandon(); a subscriber may cancel
// its own or another subscription while it runs.
#ifndef BERTH_CORE_LIFECYCLE_CANCELLATION_H_
#define BERTH_CORE_LIFECYCLE_CANCELLATION_H_

#include <functional>
#include <list>
#include <memory>
#include <string>

namespace berth {

class Cancellation {
 public:
  enum class Level {
    kNone,
    kRequested,  // please stop; an answer is still awaited
    kAbandoned,  // nobody waits any more: the operation is detached as UNCERTAIN at once
  };
  enum class Reason { kNone, kCaller, kDeadline, kShutdown };

  // Keeps a subscription alive; ends it when destroyed. Must not outlive the Cancellation.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) noexcept = default;
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription();
    void reset();

   private:
    friend class Cancellation;
    struct Entry;
    explicit Subscription(std::shared_ptr<Entry> entry);
    std::shared_ptr<Entry> entry_;
  };

  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  Level level() const { return level_; }
  Reason reason() const { return reason_; }  // of the first request
  bool requested() const { return level_ != Level::kNone; }

  void request(Reason reason);
  void abandon();

  // Called at every later rise of the level; at once, before this returns, when it is already up.
  [[nodiscard]] Subscription subscribe(std::function<void()> on_rise);

 private:
  void rise(Level level);

  Level level_ = Level::kNone;
  Reason reason_ = Reason::kNone;
  std::list<std::shared_ptr<Subscription::Entry>> entries_;
};

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_CANCELLATION_H_
