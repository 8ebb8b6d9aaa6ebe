#include "core/store/sqlite/memory.h"

#include <sqlite3.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace berth::sqlite {
namespace {

// Sizes of blocks: eight to each power of two, so that none is more than an eighth too large.
constexpr std::size_t kSmallest = 64;
constexpr std::size_t kLargest = std::size_t{16} << 10;
constexpr std::size_t kSteps = 8;
constexpr std::size_t kClasses =
    kSteps * static_cast<std::size_t>(std::bit_width(kLargest) - std::bit_width(kSmallest)) + 1;
constexpr std::size_t kSpareBytesMax = std::size_t{1} << 20;

struct Class {
  std::size_t index;
  std::size_t size;
};

// The smallest class that holds `size` bytes, which are at most kLargest.
constexpr Class class_of(std::size_t size) {
  if (size <= kSmallest) return {0, kSmallest};
  const auto octave = static_cast<std::size_t>(std::bit_width(size - 1) - 1);
  const std::size_t step = (std::size_t{1} << octave) / kSteps;
  const std::size_t above = (size - 1 - (std::size_t{1} << octave)) / step + 1;
  const auto first = static_cast<std::size_t>(std::bit_width(kSmallest) - 1);
  return {kSteps * (octave - first) + above, (std::size_t{1} << octave) + above * step};
}
static_assert(class_of(kSmallest).index == 0 && class_of(kSmallest + 1).index == 1);
static_assert(class_of(kSmallest + 1).size == 72 && class_of(128).size == 128);
static_assert(class_of(129).index == kSteps + 1 && class_of(129).size == 144);
static_assert(class_of(kLargest).index == kClasses - 1 && class_of(kLargest).size == kLargest);

// Stands before every block; a spare one also holds the next of its size. SQLite wants no more than
// eight bytes' alignment.
struct Header {
  std::size_t size;  // of what follows
};
struct Spare {
  Header header;
  Spare* next;
};

// Zero-initialised and without a destructor, so it may be used until the thread's very end.
struct Spares {
  std::array<Spare*, kClasses> first;
  std::size_t bytes;
  bool ended;  // the thread is ending: nothing is kept any more
};
thread_local constinit Spares spares{};

// Gives everything back when its thread ends.
struct AtEnd {
  bool armed = false;
  ~AtEnd() {
    spares.ended = true;
    for (Spare*& first : spares.first)
      while (first != nullptr) std::free(std::exchange(first, first->next));
  }
};
thread_local AtEnd at_end;

Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }

void* allocate(int wanted) {
  auto size = static_cast<std::size_t>(wanted);
  if (size <= kLargest) {
    const Class of = class_of(size);
    if (Spare* const spare = spares.first[of.index]; spare != nullptr) {
      spares.first[of.index] = spare->next;
      spares.bytes -= of.size;
      return &spare->header + 1;
    }
    size = of.size;
  }
  auto* const made = static_cast<Header*>(std::malloc(sizeof(Header) + size));
  if (made == nullptr) return nullptr;
  made->size = size;
  return made + 1;
}

void release(void* block) {
  if (block == nullptr) return;
  Header* const header = header_of(block);
  if (header->size > kLargest || spares.bytes + header->size > kSpareBytesMax || spares.ended)
    return std::free(header);
  at_end.armed = true;  // makes the thread have one
  auto* const spare = reinterpret_cast<Spare*>(header);
  Spare*& first = spares.first[class_of(header->size).index];
  spare->next = first;
  first = spare;
  spares.bytes += header->size;
}

void* reallocate(void* block, int wanted) {
  if (header_of(block)->size >= static_cast<std::size_t>(wanted)) return block;
  void* const made = allocate(wanted);
  if (made == nullptr) return nullptr;
  std::memcpy(made, block, header_of(block)->size);
  release(block);
  return made;
}

int size_of(void* block) {
  return block == nullptr ? 0 : static_cast<int>(header_of(block)->size);
}

int round_up(int wanted) {
  const auto size = static_cast<std::size_t>(wanted);
  return size > kLargest ? (wanted + 7) & ~7 : static_cast<int>(class_of(size).size);
}

}  // namespace

bool keep_spare_memory() {
  static constexpr sqlite3_mem_methods kMethods = {
      .xMalloc = allocate,
      .xFree = release,
      .xRealloc = reallocate,
      .xSize = size_of,
      .xRoundup = round_up,
      .xInit = [](void*) { return SQLITE_OK; },
      .xShutdown = [](void*) {},
      .pAppData = nullptr,
  };
  // Nobody asks how much SQLite uses, and to count it takes a lock at each block.
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &kMethods) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

}  // namespace berth::sqlite
