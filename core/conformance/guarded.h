// Guarded: memory that is lent to a provider and taken back.
//
// What is lent lies at the end of its pages, before a page nobody may touch; once taken back every
// access faults. Addresses are never used again, so a pointer that was kept is always found out.
#ifndef BERTH_CORE_CONFORMANCE_GUARDED_H_
#define BERTH_CORE_CONFORMANCE_GUARDED_H_

#include <cstddef>
#include <cstring>
#include <string_view>

#include "sdk/include/berth/abi.h"

namespace berth::conformance {

class Guarded {
 public:
  // Room for `size` bytes; a size of at most 0 is one page all the same.
  explicit Guarded(std::size_t size);
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { take_back(); }

  // The next `size` bytes, aligned for any type; null when there is no room.
  void* reserve(std::size_t size);
  template <class T>
  T* put(const T& value) {
    void* at = reserve(sizeof value);
    if (at != nullptr) std::memcpy(at, &value, sizeof value);
    return static_cast<T*>(at);
  }
  template <class T>
  const T* put(const T* first, std::uint64_t count) {
    if (count == 0) return nullptr;
    void* at = reserve(sizeof(T) * count);
    if (at != nullptr) std::memcpy(at, first, sizeof(T) * count);
    return static_cast<const T*>(at);
  }
  // Followed by bytes that are not NUL: whoever reads on is misled and found out.
  berth_str put(berth_str text);
  berth_str_list put(berth_str_list list);
  berth_pair_list put(berth_pair_list list);

  static std::size_t room_of(berth_str text) { return text.len + 32; }
  static std::size_t room_of(berth_str_list list);
  static std::size_t room_of(berth_pair_list list);

  // From here on every access faults.
  void take_back();

 private:
  unsigned char* begin_ = nullptr;  // of the mapping
  std::size_t mapped_ = 0;          // without the last page
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_GUARDED_H_
