#include "core/conformance/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace berth::conformance {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kTrapBytes = 8;

std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

}  // namespace

Guarded::Guarded(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  mapped_ = rounded(size == 0 ? 1 : size, page);
  void* memory = ::mmap(nullptr, mapped_ + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    mapped_ = 0;
    return;
  }
  begin_ = static_cast<unsigned char*>(memory);
  ::mprotect(begin_ + mapped_, page, PROT_NONE);
  at_ = (mapped_ - size) / kAlignment * kAlignment;
  end_ = mapped_;
}

void* Guarded::reserve(std::size_t size) {
  const std::size_t wanted = rounded(size, kAlignment);
  if (begin_ == nullptr || at_ + wanted > end_) return nullptr;
  void* at = begin_ + at_;
  at_ += wanted;
  return at;
}

berth_str Guarded::put(berth_str text) {
  if (text.len == 0) return {nullptr, 0};
  void* at = reserve(text.len + kTrapBytes);
  if (at == nullptr) return {nullptr, 0};
  std::memcpy(at, text.ptr, text.len);
  std::memset(static_cast<char*>(at) + text.len, 'Z', kTrapBytes);
  return {static_cast<const char*>(at), text.len};
}

berth_str_list Guarded::put(berth_str_list list) {
  std::vector<berth_str> items;
  for (std::uint64_t i = 0; i < list.count; ++i) items.push_back(put(list.items[i]));
  return {put(items.data(), items.size()), items.size()};
}

berth_pair_list Guarded::put(berth_pair_list list) {
  std::vector<berth_pair> items;
  for (std::uint64_t i = 0; i < list.count; ++i)
    items.push_back({put(list.items[i].key), put(list.items[i].value)});
  return {put(items.data(), items.size()), items.size()};
}

std::size_t Guarded::room_of(berth_str_list list) {
  std::size_t room = list.count * sizeof(berth_str) + 32;
  for (std::uint64_t i = 0; i < list.count; ++i) room += room_of(list.items[i]);
  return room;
}

std::size_t Guarded::room_of(berth_pair_list list) {
  std::size_t room = list.count * sizeof(berth_pair) + 32;
  for (std::uint64_t i = 0; i < list.count; ++i)
    room += room_of(list.items[i].key) + room_of(list.items[i].value);
  return room;
}

void Guarded::take_back() {
  if (begin_ != nullptr) ::mprotect(begin_, mapped_, PROT_NONE);
}

}  // namespace berth::conformance
