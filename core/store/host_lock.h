// HostLock: how one process shows others that it lives, and finds out whether they do.
//
// Every process that works on a state folder holds a lock on a file of its own in it, under a name
// that is never used again. The kernel lets go of the lock when the process ends, however it ends.
// Whoever can take the lock of another, or finds its file gone, knows that the other is dead.
//
// Ownership: owns the lock until it is destroyed. One thread at a time. For a local file system:
// locks of one machine are not seen by another.
#ifndef BERTH_CORE_STORE_HOST_LOCK_H_
#define BERTH_CORE_STORE_HOST_LOCK_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/lifecycle/intent.h"
#include "core/lifecycle/store.h"
#include "core/os/fd.h"
#include "core/store/left_words.h"

namespace berth {

class HostLock final : public HolderProbe {
 public:
  // `state_dir` exists and belongs to this user. Also removes lock files of dead processes.
  static Result<std::unique_ptr<HostLock>> acquire(const std::filesystem::path& state_dir);
  ~HostLock() override;
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;

  // This process, as its intents name it.
  const Holder& holder() const { return holder_; }
  // What every resource of this state folder is tagged with: made once, the same for all processes.
  const std::string& host_tag() const { return holder_.host_id; }

  // Looks for the lock by its file name in this state folder, wherever the holder saw the folder.
  bool is_dead(const Holder& holder) override;
  // "process 1234 of this machine": the number is in the name of its lock.
  std::string describe(const Holder& holder) const override;

  void leave_word(std::string_view intent_name, std::string_view word) override;
  std::optional<std::string> left_word(std::string_view intent_name) const override;
  std::vector<std::string> intents_with_words() const override;
  void drop_word(std::string_view intent_name) override;

 private:
  HostLock(std::filesystem::path folder, Holder holder, os::Fd lock);
  void remove_dead_files();

  std::filesystem::path folder_;
  Holder holder_;
  os::Fd lock_;
  LeftWords words_;
};

}  // namespace berth

#endif  // BERTH_CORE_STORE_HOST_LOCK_H_
