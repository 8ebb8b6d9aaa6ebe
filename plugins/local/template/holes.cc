#include "template/holes.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace berth::local {
namespace {

// More than packages leave free. What is filled is not written to, so it costs address space more than memory.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

}  // namespace

void fill_holes(const SmallBlocks& blocks, const Gathered& arenas) {
  const char* const behind = arenas.end();
  std::size_t left = kMostBytes;
  // First the arenas, until the allocator takes another; then, size by size, what is free in those begun.
  while (arenas.end() == behind && left > blocks.largest) {
    if (blocks.take(blocks.largest) == nullptr) return;
    left -= blocks.largest;
  }
  for (std::size_t size = blocks.largest; size >= blocks.step; size -= blocks.step) {
    while (left > size) {
      auto* const block = static_cast<char*>(blocks.take(size));
      if (block == nullptr) return;
      if (block >= behind && block < arenas.end()) {
        blocks.give_back(block);
        break;
      }
      left -= size;
    }
  }
}

void fill_heap() {
  constexpr std::size_t kLargest = 64 * 1024;
  constexpr std::size_t kLeast = 24;
  constexpr std::size_t kStep = 16;
  const char* const behind = static_cast<char*>(sbrk(0)) - mallinfo2().keepcost;
  std::size_t left = kMostBytes;
  for (std::size_t size = kLargest; size >= kLeast; size = size > 2048 ? size / 8 * 7 : size - kStep) {
    while (left > size) {
      auto* const block = static_cast<char*>(std::malloc(size));
      if (block == nullptr) return;
      if (block >= behind) {
        std::free(block);
        break;
      }
      left -= size;
    }
  }
}

}  // namespace berth::local
