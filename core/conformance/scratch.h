// Scratch: the private folder of one run of the kit; every case has one of its own below it.
//
// A run holds a lock on its folder for as long as its process lives. A run that was killed leaves the folder
// without the lock, so what is found unlocked, marked as a run's and this user's, is a dead run's for certain.
#ifndef BERTH_CORE_CONFORMANCE_SCRATCH_H_
#define BERTH_CORE_CONFORMANCE_SCRATCH_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/cancellation.h"
#include "core/os/fd.h"

namespace berth::conformance {

struct RunRequest;

class Scratch {
 public:
  // Below `base`; empty: the system's temporary folder.
  static Result<Scratch> make(std::filesystem::path base);
  // Those of dead runs of this user below `base`, locked by this process from here on.
  static std::vector<Scratch> abandoned(std::filesystem::path base);

  const std::filesystem::path& path() const { return path_; }
  // The folder with everything in it; the lock stays until the end of this object.
  void remove() const;

 private:
  Scratch(std::filesystem::path path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  os::Fd lock_;
};

struct Swept {
  std::size_t runs = 0;               // dead ones of which nothing is left
  std::vector<std::string> problems;  // a sentence for each folder that stays, and why
};

// Destroys by name, each in a fresh process of its provider, whatever dead runs may have left, and removes their
// folders. A folder whose sandboxes are not confirmed gone stays. `request`: whose scratch, program and worker.
Task<Swept> sweep_dead_runs(boost::asio::any_io_executor executor, const RunRequest& request,
                            Cancellation& cancellation);

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_SCRATCH_H_
