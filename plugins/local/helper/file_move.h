// One file on its way into the sandbox or out of it. The init moves it itself, a piece whenever its pipe
// allows, so that a file costs no process, and a slow end of the pipe holds up nothing else of the init.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_FILE_MOVE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_FILE_MOVE_H_

#include <cstdint>

#include "helper/command_child.h"
#include "wire.h"

namespace berth::local {

// One at a time, from a begin to the end of it. Single-threaded, no allocation.
class FileMove {
 public:
  // Takes a copy of the pipe's descriptor. False when it is over already, see report().
  bool begin_put(const PutRequest& request, int pipe);
  bool begin_get(const GetRequest& request, int pipe);

  // Moves what can be moved now. False when it is over.
  bool step();
  // Ends it where it is. Of a file on its way in nothing is left.
  void abort(int error);

  // What to wait for while it is under way.
  int pipe() const { return pipe_; }
  short events() const;

  // How it went, once it is over.
  const ChildReport& report() const { return report_; }

 private:
  bool take(int pipe);
  bool step_put();
  bool step_get();
  void commit();
  bool end(Step step, int error);

  bool into_ = false;
  int pipe_ = -1;
  int file_ = -1;
  int folder_ = -1;         // of a file on its way in
  std::uint64_t left_ = 0;  // bytes still to come
  std::uint64_t at_ = 0;
  char name_[kPathMaxBytes + 1] = {};
  char beside_[40] = {};    // what it is called until it is whole
  ChildReport report_{};
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_FILE_MOVE_H_
