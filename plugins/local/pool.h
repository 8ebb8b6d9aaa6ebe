// What is made ahead: a template, and sandboxes that wait for a create. A thread of its own makes them,
// one after the other, and gives way to creates. Each belongs to this provider from its birth, with a
// record like any other, until a create claims it by one exclusive rename of that record; then it is an
// allocation like any other, used once and destroyed. What is not claimed ends with the provider.
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
    Turn(Pool& pool, bool for_python);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Pool& pool_;
  };

  // A waiting sandbox that fits, as the allocation of the wish. `taken` says that there was one but the
  // name is not free. nullptr: none fits. Throws Failure when the claimed one cannot be given its limits.
  std::shared_ptr<Sandbox> claim(const Wish& wish, bool* taken);

  // Makes nothing any more and ends what nobody claimed. A template is ended too, unless a sandbox that
  // was forked from it is to live on.
  void stop(bool forks_live_on);

  // To fork from now, or nothing.
  std::shared_ptr<Template> usable_template();

  // Waits until there is nothing to make. False when it is not so in time.
  bool await_full(std::chrono::milliseconds patience);

  // One line for people.
  std::string describe() const;

 private:
  void serve();
  bool wants_template() const;
  bool wants_member() const;
  bool settled() const;
  bool stopping() const;
  void make_template(std::unique_lock<std::mutex>* lock);
  void make_member(std::unique_lock<std::mutex>* lock);
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
  std::shared_ptr<Template> template_;
  std::vector<std::shared_ptr<Sandbox>> unfit_;    // to be ended
  std::vector<std::shared_ptr<Sandbox>> retired_;  // of templates that are left by all but their sandboxes
  std::string template_problem_;
  int template_failures_ = 0;
  int member_failures_ = 0;
  EffectiveLimits shape_;
  std::uint64_t creates_ = 0;
  std::uint64_t python_creates_ = 0;
  std::uint64_t forks_ = 0;
  bool refilling_ = false;
  int busy_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_POOL_H_
