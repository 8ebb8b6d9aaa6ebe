// The worker with an allocator that is not the C library's. Memory that is freed by the side that did not
// allocate it ends the process, whichever side that is: this one finds no mark before the block, the C
// library a block it never gave. Fresh and freed memory is filled, so that nobody gets away with reading it.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace {

constexpr std::uintptr_t kMark = 0x6265727468616c6cu;
constexpr int kFresh = 0xcd;
constexpr int kFreed = 0xdd;

// Just before every block.
struct Head {
  void* base;
  std::size_t bytes;
  std::uintptr_t mark;  // with the block's own address in it, so that a copy of it is none
  std::uintptr_t unused;
};

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t before = std::max(alignment, sizeof(Head));
  const std::size_t rounded = (bytes + before + alignment - 1) / alignment * alignment;
  void* const base = std::aligned_alloc(alignment, rounded);
  if (base == nullptr) return nullptr;
  char* const block = static_cast<char*>(base) + before;
  std::memset(block, kFresh, bytes);
  const Head head{base, bytes, kMark ^ reinterpret_cast<std::uintptr_t>(block), 0};
  std::memcpy(block - sizeof head, &head, sizeof head);
  return block;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const block = allocate(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  Head head;
  std::memcpy(&head, static_cast<char*>(block) - sizeof head, sizeof head);
  if (head.mark != (kMark ^ reinterpret_cast<std::uintptr_t>(block))) {
    constexpr std::string_view kSaid = "foreign allocator: a block was freed that was not allocated here\n";
    static_cast<void>(::write(2, kSaid.data(), kSaid.size()));
    std::abort();
  }
  std::memset(static_cast<char*>(block) - sizeof head, kFreed, head.bytes + sizeof head);
  std::free(head.base);
}

constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, kUsual); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, kUsual); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, kUsual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, kUsual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }
