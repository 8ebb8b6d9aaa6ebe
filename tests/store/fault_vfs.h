// FaultVfs: the system's SQLite VFS with writes and flushes that fail when a test says so.
//
// One for the process, registered as "berth-fault". Armed and disarmed from any thread.
#ifndef BERTH_TESTS_STORE_FAULT_VFS_H_
#define BERTH_TESTS_STORE_FAULT_VFS_H_

#include <functional>
#include <string>

namespace berth::test {

enum class FileCall { kWrite, kSync };

class FaultVfs {
 public:
  // Registers it at the first call.
  static const std::string& name();

  // From the next call of this kind on a write-ahead log on, `times` calls give the SQLite code;
  // negative: all of them until disarm.
  static void arm(FileCall call, int code, int times);
  static void disarm();
  // Runs `what` once, before the `nth` shared lock from now on of a database opened through this VFS: what
  // another process may do between two reads.
  static void before_shared_lock(int nth, std::function<void()> what);
  // How many calls have failed since arm.
  static int failed();
  // How many calls of this kind on a log there were, failed ones too, since the process began.
  static int made(FileCall call);
};

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_FAULT_VFS_H_
