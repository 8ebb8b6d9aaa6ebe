#include "tests/store/fault_vfs.h"

#include <sqlite3.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

namespace berth::test {
namespace {

struct Faults {
  std::mutex mutex;
  FileCall call = FileCall::kWrite;
  int code = SQLITE_OK;
  int times = 0;
  int failed = 0;
  int made[2] = {0, 0};
  int shared_locks_left = 0;
  std::function<void()> before_shared_lock;
};
Faults& faults() {
  static Faults all;
  return all;
}

// The code that this call must fail with, or SQLITE_OK.
int fault_of(FileCall call) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  ++all.made[static_cast<int>(call)];
  if (all.times == 0 || all.call != call) return SQLITE_OK;
  if (all.times > 0) --all.times;
  ++all.failed;
  return all.code;
}

std::function<void()> due_before_shared_lock() {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  if (all.shared_locks_left == 0 || --all.shared_locks_left > 0) return nullptr;
  return std::exchange(all.before_shared_lock, nullptr);
}

sqlite3_vfs* real_vfs = nullptr;

// SQLite allocates it with the real file right behind.
struct alignas(std::max_align_t) File {
  sqlite3_file base;
  bool is_log;
};
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
}
bool is_log(sqlite3_file* file) { return reinterpret_cast<File*>(file)->is_log; }

int on_close(sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); }
int on_read(sqlite3_file* f, void* into, int bytes, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), into, bytes, at);
}
int on_write(sqlite3_file* f, const void* from, int bytes, sqlite3_int64 at) {
  if (is_log(f))
    if (const int code = fault_of(FileCall::kWrite); code != SQLITE_OK) return code;
  return real(f)->pMethods->xWrite(real(f), from, bytes, at);
}
int on_truncate(sqlite3_file* f, sqlite3_int64 bytes) {
  return real(f)->pMethods->xTruncate(real(f), bytes);
}
int on_sync(sqlite3_file* f, int flags) {
  // The bytes are in the file, but nobody promises that they stay: what a failed fsync means.
  if (is_log(f))
    if (const int code = fault_of(FileCall::kSync); code != SQLITE_OK) return code;
  return real(f)->pMethods->xSync(real(f), flags);
}
int on_file_size(sqlite3_file* f, sqlite3_int64* bytes) {
  return real(f)->pMethods->xFileSize(real(f), bytes);
}
int on_lock(sqlite3_file* f, int level) {
  if (level == SQLITE_LOCK_SHARED) {
    if (const auto what = due_before_shared_lock()) what();
  }
  return real(f)->pMethods->xLock(real(f), level);
}
int on_unlock(sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); }
int on_check_lock(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
int on_control(sqlite3_file* f, int op, void* arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}
int on_sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int on_device(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
int on_shm_map(sqlite3_file* f, int page, int bytes, int extend, void volatile** out) {
  return real(f)->pMethods->xShmMap(real(f), page, bytes, extend, out);
}
int on_shm_lock(sqlite3_file* f, int offset, int count, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, count, flags);
}
void on_shm_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int on_shm_unmap(sqlite3_file* f, int remove) {
  return real(f)->pMethods->xShmUnmap(real(f), remove);
}

constexpr sqlite3_io_methods kMethods = {
    2,           on_close,       on_read,       on_write,   on_truncate,    on_sync,   on_file_size,
    on_lock,     on_unlock,      on_check_lock, on_control, on_sector_size, on_device, on_shm_map,
    on_shm_lock, on_shm_barrier, on_shm_unmap,  nullptr,    nullptr,
};

int on_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  File* made = new (file) File{};
  made->is_log = (flags & SQLITE_OPEN_WAL) != 0;
  const int code = real_vfs->xOpen(real_vfs, name, real(file), flags, out_flags);
  made->base.pMethods = real(file)->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

std::string register_once() {
  real_vfs = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs vfs = *real_vfs;
  vfs.zName = "berth-fault";
  vfs.pNext = nullptr;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
  vfs.xOpen = on_open;
  sqlite3_vfs_register(&vfs, 0);
  return vfs.zName;
}

}  // namespace

const std::string& FaultVfs::name() {
  static const std::string registered = register_once();
  return registered;
}

void FaultVfs::arm(FileCall call, int code, int times) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  all.call = call;
  all.code = code;
  all.times = times;
  all.failed = 0;
}

void FaultVfs::disarm() { arm(FileCall::kWrite, SQLITE_OK, 0); }

void FaultVfs::before_shared_lock(int nth, std::function<void()> what) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  all.shared_locks_left = nth;
  all.before_shared_lock = std::move(what);
}

int FaultVfs::failed() {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  return all.failed;
}

int FaultVfs::made(FileCall call) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  return all.made[static_cast<int>(call)];
}

}  // namespace berth::test
