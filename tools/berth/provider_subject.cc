#include "tools/berth/provider_subject.h"

#include <system_error>
#include <utility>

namespace berth::cli {

Tried<std::filesystem::path> find_subject(const std::string& subject,
                                          const registry::SearchPath& search) {
  std::error_code error;
  if (subject.find('/') != std::string::npos || std::filesystem::exists(subject, error)) {
    return std::filesystem::path(subject);
  }
  auto found = registry::find_by_id(search, subject);
  if (!found) return failed(Exit::kProvider, std::move(found).error());
  return std::move(*found);
}

}  // namespace berth::cli
