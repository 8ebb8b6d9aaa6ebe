// What is made ahead: a template of each interpreter that is asked for, and sandboxes that wait for a
// create, with such an interpreter or without. A thread of its own makes them, one after the other, and
// gives way to creates. Each belongs to this provider from its birth, with a record like any other, until
// a create claims it by one exclusive rename of that record; then it is an allocation like any other, used
// once and destroyed. What is not claimed ends with the provider.
//
// Thread safety: every member may be called from any thread.
#ifndef BERTH_PLUGINS_LOCAL_POOL_H_
#define BERTH_PLUGINS_LOCAL_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "maker.h"

namespace berth::local {

// Names of what a provider makes for itself. No host gives such a name.
inline constexpr std::string_view kOwnPrefix = "local-";

class Pool {
 public:
  Pool(const Config& config, StateStore& store, Maker& maker, std::string owner_tag);
  ~Pool();

  // A create is under way: refilling waits for its end, though not for ever.
  class Turn {
   public:
    Turn(Pool& pool, Interpreter interpreter);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Pool& pool_;
  };

  // A waiting sandbox that fits, as the allocation of the wish: with its interpreter, or with none where
  // that has no template. `taken` says that there was one but the name is not free. nullptr: none fits.
  // Throws Failure when the claimed one cannot be given its limits.
  std::shared_ptr<Sandbox> claim(const Wish& wish, bool* taken);

  // Makes nothing any more and ends what nobody claimed. A template is ended too, unless a sandbox that
  // was forked from it is to live on.
  void stop(bool forks_live_on);

  // To fork from now, or nothing.
  std::shared_ptr<Template> usable_template(Interpreter interpreter);

  // Waits until there is nothing to make. False when it is not so in time.
  bool await_full(std::chrono::milliseconds patience);

  // One line for people.
  std::string describe() const;

 private:
  // What is known of one interpreter's template.
  struct Mould {
    std::shared_ptr<Template> now;
    std::string problem;
    int failures = 0;
    std::uint64_t creates = 0;  // that asked for this interpreter
    std::uint64_t forks = 0;    // of the one there is now

    bool usable() const { return now && now->usable(); }
  };

  // Members with the same interpreter, or with none, which is the last.
  static constexpr std::size_t kKinds = kInterpreterCount + 1;
  static constexpr std::size_t kBare = kInterpreterCount;
  static std::size_t kind_of(const Sandbox& member) {
    return member.interpreter() ? index_of(*member.interpreter()) : kBare;
  }

  void serve();
  bool asked_for(std::size_t interpreter) const;
  bool wants_template(std::size_t interpreter) const;
  bool wants_kind(std::size_t kind) const;
  bool wants_member(std::size_t kind) const;
  bool settled() const;
  bool stopping() const;
  void make_next(std::unique_lock<std::mutex>* lock);
  void make_template(std::size_t interpreter, std::unique_lock<std::mutex>* lock);
  void make_member(std::size_t kind, std::unique_lock<std::mutex>* lock);
  std::shared_ptr<Sandbox> take_member(Interpreter wanted);
  void forgo_unwanted();
  void clean(std::unique_lock<std::mutex>* lock);
  void discard(const std::shared_ptr<Sandbox>& member);
  bool become(const std::shared_ptr<Sandbox>& member, const Wish& wish);

  const Config& config_;
  StateStore& store_;
  Maker& maker_;
  const std::string owner_tag_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Sandbox>> members_;
  Mould moulds_[kInterpreterCount];
  std::vector<std::shared_ptr<Sandbox>> unfit_;    // to be ended
  std::vector<std::shared_ptr<Sandbox>> retired_;  // of templates that are left by all but their sandboxes
  int member_failures_ = 0;
  EffectiveLimits shape_;
  std::uint64_t creates_ = 0;
  bool refilling_[kKinds] = {};
  int busy_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_POOL_H_
