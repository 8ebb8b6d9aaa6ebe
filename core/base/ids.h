// Random identifiers and hexadecimal text.
#ifndef BERTH_CORE_BASE_IDS_H_
#define BERTH_CORE_BASE_IDS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

// `bytes` random bytes from the kernel as lowercase hexadecimal. Any thread.
std::string random_hex(std::size_t bytes);

// True when nothing but white space (space, tab, CR, LF, VT, FF) is in `text`.
bool is_blank(std::string_view text);

}  // namespace berth

#endif  // BERTH_CORE_BASE_IDS_H_
