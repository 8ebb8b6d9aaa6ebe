// A SQLite VFS that writes the write-ahead log in large pieces.
//
// SQLite appends a page to the log by two writes, one of 24 and one of 4096 bytes, and a commit of
// many calls has a hundred pages. What is written in a row is gathered here and handed on as one
// piece: before the log is flushed, read, measured or cut, so that nothing can tell the difference.
// The log is always flushed before SQLite shows a commit to others (synchronous=FULL), hence nobody
// is pointed to bytes that are only here.
//
// Over the system's own VFS, a flush of a few pages that are all still here is one call to the kernel
// that writes and flushes (RWF_DSYNC: it returns when the data, and what is needed to find it again,
// are on the disk) in place of two. A log that has just been made, more than a few pages, what was
// handed on before the flush, and whatever that call refuses are flushed by SQLite.
#ifndef BERTH_CORE_STORE_SQLITE_GATHERED_LOG_H_
#define BERTH_CORE_STORE_SQLITE_GATHERED_LOG_H_

#include <string>

#include "core/base/result.h"

namespace berth::sqlite {

// The name of such a VFS over the one named `beneath`; empty: over the system's own. Registers it
// at the first call, for the life of the process. Any thread.
Result<std::string> gathered_log_vfs(const std::string& beneath);

}  // namespace berth::sqlite

#endif  // BERTH_CORE_STORE_SQLITE_GATHERED_LOG_H_
