// A provider's file, loaded the way a host does.
#ifndef BERTH_TESTS_REMOTE_PROVIDER_FILE_H_
#define BERTH_TESTS_REMOTE_PROVIDER_FILE_H_

#include <string>

#include "berth/abi.h"

namespace berth::tests {

// Its entry; the file stays loaded. Throws std::runtime_error with the reason.
berth_provider_entry_fn entry_of(const std::string& file);

}  // namespace berth::tests

#endif  // BERTH_TESTS_REMOTE_PROVIDER_FILE_H_
