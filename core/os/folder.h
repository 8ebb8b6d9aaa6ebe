// Folders of this user's own, and what stands in them.
#ifndef BERTH_CORE_OS_FOLDER_H_
#define BERTH_CORE_OS_FOLDER_H_

#include <filesystem>

#include "core/base/result.h"

namespace berth::os {

// Makes what is missing of the path with mode 0700, whatever the umask allows. Folders that are there
// stay as they are.
Status make_private_folders(const std::filesystem::path& path);

// A file that may be missing is not missing where its name is there and leads nowhere: somebody meant
// there to be one. kIo, naming what it points at; else nothing is wrong.
Status check_no_dangling_link(const std::filesystem::path& path);

}  // namespace berth::os

#endif  // BERTH_CORE_OS_FOLDER_H_
