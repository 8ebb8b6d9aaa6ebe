// The sandboxes' folders, for programs that really run: files, and what says that something runs.
//
//   boxes/NAME/root/...   the sandbox's files; programs start in root/workspace
//   boxes/NAME/env        the variables of every command, NUL-terminated "KEY=value"
//   boxes/NAME/alive      locked (shared) by everything that runs in it
//   boxes/NAME/stop       a FIFO; one byte in it tells all of that to end, whatever process started it
//
// There is no isolation whatsoever: a program is a process of this user. This is for testing hosts and
// the conformance kit, not for running what one does not trust. Any thread, any process.
#ifndef BERTH_PLUGINS_REFERENCE_BOXES_H_
#define BERTH_PLUGINS_REFERENCE_BOXES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/values.hpp"
#include "plugins/reference/files.h"

namespace berth::reference {

// A descriptor with one owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) : raw_(raw) {}
  Fd(Fd&& other) noexcept : raw_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return raw_; }
  bool valid() const { return raw_ >= 0; }
  int release();

 private:
  int raw_ = -1;
};

class Boxes final : public Files {
 public:
  explicit Boxes(std::string folder) : folder_(std::move(folder)) {}

  // Throws berth::Failure (rejected, kUnsupported) for what no plain process can be held to. [RUN-007]
  static void require_keepable(const Limits& limits);

  // The same for the limits of a sandbox, of which there are none.
  static void require_none(const Limits& limits);

  // Makes the folder of a new sandbox.
  void make(const std::string& sandbox, const CreateSpec& spec);

  void put(const std::string& sandbox, const std::string& path, File file) override;
  File get(const std::string& sandbox, const std::string& path, std::uint64_t bytes_max) override;
  // Tells what runs to end, and removes the files. Does not wait.
  void drop(const std::string& sandbox) override;

  std::string work_folder(const std::string& sandbox) const { return root(sandbox) + "/workspace"; }
  std::vector<std::string> environment(const std::string& sandbox) const;
  // Held by whatever runs; throws berth::Failure (rejected) when the folder is gone.
  Fd hold_alive(const std::string& sandbox) const;
  Fd open_stop(const std::string& sandbox) const;
  // Tells what runs to end; true when nothing does.
  bool stop(const std::string& sandbox) const;
  void remove(const std::string& sandbox) const;

 private:
  std::string box(const std::string& sandbox) const { return folder_ + "/" + sandbox; }
  std::string root(const std::string& sandbox) const { return box(sandbox) + "/root"; }
  // A path as a program inside sees it: one in the root's own folder is itself, any other below it.
  std::string relative(const std::string& sandbox, const std::string& path) const;

  const std::string folder_;
};

}  // namespace berth::reference

#endif  // BERTH_PLUGINS_REFERENCE_BOXES_H_
