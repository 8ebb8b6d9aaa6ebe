// RecordSource: the store for a command that only looks. Where the state folder cannot be written, such
// as on a read-only file system, it is read as it lies there, and that is said.
#ifndef BERTH_TOOLS_BERTH_RECORD_SOURCE_H_
#define BERTH_TOOLS_BERTH_RECORD_SOURCE_H_

#include <memory>

#include "core/base/task.h"
#include "core/lifecycle/store.h"
#include "tools/berth/context.h"
#include "tools/berth/failure.h"
#include "tools/berth/host.h"

namespace berth::cli {

// Must be closed before it is destroyed, as a host must.
class RecordSource {
 public:
  static Tried<std::unique_ptr<RecordSource>> open(const Context& context);

  Store& store();
  Task<void> close();

 private:
  RecordSource(std::unique_ptr<Host> host, std::unique_ptr<Store> only_read);

  std::unique_ptr<Host> host_;        // null: only_read_ is there
  std::unique_ptr<Store> only_read_;
};

// The store of a state folder that this user owns and cannot write; `why` says what a host said of it.
// Any other folder is that failure.
Tried<std::unique_ptr<Store>> open_to_read(const Context& context, const Failure& why);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RECORD_SOURCE_H_
