#include "core/store/sqlite/gathered_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "core/os/fd.h"

namespace berth::sqlite {
namespace {

// Twenty-nine pages. SQLite's own VFS for Unix takes less than 128 KiB in one write (seekAndWriteFd in
// its os_unix.c), and a larger piece would save next to nothing.
constexpr sqlite3_int64 kGatheredBytesMax = sqlite3_int64{120} << 10;

// What is written and flushed at once. Measured on ext4, one call in place of two saves 8 us of 190 for
// up to four pages, nothing for eight, and with more it takes longer than the two.
constexpr sqlite3_int64 kFlushedAtOnceMax = sqlite3_int64{24} << 10;

// SQLite allocates it with the real file right behind.
struct Log {
  sqlite3_file base;
  std::unique_ptr<char[]> gathered;  // made at the first write
  sqlite3_int64 at = 0;              // where in the log it belongs
  sqlite3_int64 size = 0;
  // Of the same file, to write and flush at once; not valid where SQLite does all flushing. SQLite
  // holds no POSIX lock on a log, so that closing this drops none.
  os::Fd own;
  bool flush_all = true;  // something is not flushed that is not here, or the log is new
};

Log& log(sqlite3_file* file) { return *reinterpret_cast<Log*>(file); }
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<Log*>(file) + 1);
}

// What cannot be written is dropped: the call that asked for it fails, and SQLite then takes nothing
// since the last flush for written.
int hand_on(sqlite3_file* file) {
  Log& self = log(file);
  if (self.size == 0) return SQLITE_OK;
  const int code = real(file)->pMethods->xWrite(real(file), self.gathered.get(),
                                                static_cast<int>(self.size), self.at);
  self.size = 0;
  self.flush_all = true;
  return code;
}

// False: SQLite has to do it. Writing everything again does no harm.
bool write_and_flush(Log& self) {
  if (!self.own.valid() || self.flush_all) return false;
  if (self.size == 0 || self.size > kFlushedAtOnceMax) return false;
  const iovec piece{self.gathered.get(), static_cast<std::size_t>(self.size)};
  if (::pwritev2(self.own.get(), &piece, 1, self.at, RWF_DSYNC) != self.size) return false;
  self.size = 0;
  return true;
}

int on_sync(sqlite3_file* file, int flags) {
  Log& self = log(file);
  if (write_and_flush(self)) return SQLITE_OK;
  if (const int code = hand_on(file); code != SQLITE_OK) return code;
  const int code = real(file)->pMethods->xSync(real(file), flags);
  // The folder that names a new log was flushed with it.
  if (code == SQLITE_OK) self.flush_all = false;
  return code;
}

int on_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  Log& self = log(file);
  if (at != self.at + self.size || self.size + bytes > kGatheredBytesMax) {
    if (const int code = hand_on(file); code != SQLITE_OK) return code;
    self.at = at;
  }
  if (self.gathered == nullptr && bytes <= kGatheredBytesMax)
    self.gathered.reset(new (std::nothrow) char[kGatheredBytesMax]);
  if (self.gathered == nullptr || bytes > kGatheredBytesMax) {
    self.at = at + bytes;
    self.flush_all = true;
    return real(file)->pMethods->xWrite(real(file), from, bytes, at);
  }
  std::memcpy(self.gathered.get() + self.size, from, static_cast<std::size_t>(bytes));
  self.size += bytes;
  return SQLITE_OK;
}

int on_close(sqlite3_file* file) {
  const int written = hand_on(file);
  const int closed = real(file)->pMethods->xClose(real(file));
  std::destroy_at(&log(file));
  return written != SQLITE_OK ? written : closed;
}

// Every other call sees the log as if it had been written at once.
template <auto Method, class... Arguments>
int after_writing(sqlite3_file* file, Arguments... arguments) {
  if (const int code = hand_on(file); code != SQLITE_OK) return code;
  return (real(file)->pMethods->*Method)(real(file), arguments...);
}

template <auto Method, class... Arguments>
int pass_on(sqlite3_file* file, Arguments... arguments) {
  return (real(file)->pMethods->*Method)(real(file), arguments...);
}

using Methods = sqlite3_io_methods;
// Version 1: a log has no shared memory of its own and is not mapped.
constexpr Methods kMethods = {
    .iVersion = 1,
    .xClose = on_close,
    .xRead = after_writing<&Methods::xRead>,
    .xWrite = on_write,
    .xTruncate = after_writing<&Methods::xTruncate>,
    .xSync = on_sync,
    .xFileSize = after_writing<&Methods::xFileSize>,
    .xLock = pass_on<&Methods::xLock>,
    .xUnlock = pass_on<&Methods::xUnlock>,
    .xCheckReservedLock = pass_on<&Methods::xCheckReservedLock>,
    .xFileControl = after_writing<&Methods::xFileControl>,
    .xSectorSize = pass_on<&Methods::xSectorSize>,
    .xDeviceCharacteristics = pass_on<&Methods::xDeviceCharacteristics>,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

// One VFS over another. SQLite knows it by its first member.
struct Layer {
  sqlite3_vfs vfs;
  sqlite3_vfs* beneath;
  bool flushes;  // beneath is the system's own
};
static_assert(std::is_standard_layout_v<Layer>);

int on_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  sqlite3_vfs* const beneath = reinterpret_cast<Layer*>(vfs)->beneath;
  if ((flags & SQLITE_OPEN_WAL) == 0) return beneath->xOpen(beneath, name, file, flags, out_flags);
  file->pMethods = nullptr;
  const int code = beneath->xOpen(beneath, name, real(file), flags, out_flags);
  if (real(file)->pMethods == nullptr) return code;
  Log* const made = new (file) Log{};
  file->pMethods = &kMethods;
  if (code != SQLITE_OK || !reinterpret_cast<Layer*>(vfs)->flushes) return code;
  if (auto own = os::open_file(name, O_WRONLY)) made->own = std::move(*own);
  return code;
}

struct Layers {
  struct Named {
    std::string name;
    Layer layer;
  };
  std::mutex mutex;
  std::map<std::string, Named> by_beneath;
};
// Never destroyed: a connection may outlive every static object.
Layers& layers() {
  static auto* const all = new Layers();
  return *all;
}

}  // namespace

Result<std::string> gathered_log_vfs(const std::string& beneath) {
  Layers& all = layers();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_beneath.find(beneath); found != all.by_beneath.end())
    return found->second.name;
  sqlite3_vfs* const under = sqlite3_vfs_find(beneath.empty() ? nullptr : beneath.c_str());
  if (under == nullptr)
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("SQLite has no VFS with the name '{}'", beneath));
  Layers::Named& made = all.by_beneath[beneath];
  made.name = fmt::format("berth-{}", under->zName);
  made.layer = {*under, under, beneath.empty()};
  made.layer.vfs.pNext = nullptr;
  made.layer.vfs.zName = made.name.c_str();
  made.layer.vfs.szOsFile = static_cast<int>(sizeof(Log)) + under->szOsFile;
  made.layer.vfs.xOpen = on_open;
  if (sqlite3_vfs_register(&made.layer.vfs, 0) == SQLITE_OK) return made.name;
  all.by_beneath.erase(beneath);
  return fail(ErrorKind::kInternal, "SQLite refuses another VFS");
}

}  // namespace berth::sqlite
