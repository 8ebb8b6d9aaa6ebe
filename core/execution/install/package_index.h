// Where packages may be installed from: the host's configuration, never the program's or the
// environment's.
#ifndef BERTH_CORE_EXECUTION_INSTALL_PACKAGE_INDEX_H_
#define BERTH_CORE_EXECUTION_INSTALL_PACKAGE_INDEX_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"

namespace berth {

// During an install the sandbox reaches what is named here and nothing else, and that through the
// host: credentials, certificates and addresses stay outside. Plain data; read-only once in use.
struct PackageIndex {
  // http or https, with user:password@ where the index asks for it. Empty: none.
  std::string index_url;
  std::vector<std::string> extra_index_urls;
  // Pages with links to files (http, https), or absolute paths of folders of this machine.
  std::vector<std::string> find_links;
  bool no_index = false;  // only find_links are used
  // "host" or "host:port" (443 when absent) that files and redirects may come from, beside the hosts
  // of the URLs above.
  std::vector<std::string> file_hosts;
  std::vector<std::string> trusted_hosts;  // "host" or "host:port" whose certificate is not verified
  std::filesystem::path certificates;      // PEM authorities, beside the system's. Empty: none

  std::filesystem::path cache_dir;  // of files with a known SHA-256. Empty: nothing is kept
  std::uint64_t cache_bytes_max = std::uint64_t{2} << 30;
  std::uint64_t install_bytes_max = std::uint64_t{4} << 30;  // fetched during one install
  Duration timeout = std::chrono::minutes(3);                // of all installs of one program
  Duration idle_timeout = std::chrono::seconds(30);          // without a byte from the index

  // Whether there is anything to install from.
  bool any() const;
};

// What is wrong with it, named by the key of the configuration. Never repeats a URL.
Status validate(const PackageIndex& index);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_INSTALL_PACKAGE_INDEX_H_
