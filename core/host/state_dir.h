// The folder in which a host keeps what it must not forget.
#ifndef BERTH_CORE_HOST_STATE_DIR_H_
#define BERTH_CORE_HOST_STATE_DIR_H_

#include <filesystem>
#include <string_view>

#include "core/base/result.h"

namespace berth {

// Makes it (mode 0700) where it is missing, and refuses one that others can write or that belongs
// to someone else: what is in it decides what is deleted and what is paid. `option` is what users
// of this program name another folder with, for the error; may be empty.
Status prepare_state_dir(const std::filesystem::path& dir, std::string_view option);

}  // namespace berth

#endif  // BERTH_CORE_HOST_STATE_DIR_H_
