// Where an interpreter makes what it makes next. After its packages were imported and garbage was collected,
// what is free lies in holes all over their memory: each object of a fork would go into another page of what
// it shares, which copies that page and keeps others near it mapped. With the holes filled before the first
// fork, new objects lie side by side behind all that was there.
//
// One thread. Nothing here allocates but to fill.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_HOLES_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_HOLES_H_

#include <cstddef>

#include "template/image.h"

namespace berth::local {

// Of an allocator of small blocks that takes its memory from `arenas`.
struct SmallBlocks {
  void* (*take)(std::size_t bytes);
  void (*give_back)(void* block);
  std::size_t largest;
  std::size_t step;
};
void fill_holes(const SmallBlocks& blocks, const Gathered& arenas);

// Of the C library's heap.
void fill_heap();

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_HOLES_H_
