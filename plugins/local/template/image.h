// The memory of a template as a file. A fork copies an entry for every page that is nobody's but the
// process's own, and its end takes each away again: sixteen thousand for an interpreter with its packages,
// of which a short program writes to a hundred. Pages of a file are not copied at a fork but found when
// they are touched. So what was imported is put into a sealed file that only this template and its forks
// have mapped, each with private copies of what it writes to.
//
// One thread. Linux only.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_IMAGE_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_IMAGE_H_

#include <cstddef>

namespace berth::local {

struct Span {
  char* first;
  std::size_t bytes;
};

// Memory that is handed out side by side until it is made a file. The arenas of an interpreter come from
// here, so that they are one mapping.
class Gathered {
 public:
  // Zeroed, writable, never moved; from the system itself when the room is used up or the file is made.
  // nullptr when there is none.
  void* take(std::size_t bytes);
  void give_back(void* at, std::size_t bytes);

  // Behind all that was taken; what comes next begins here. nullptr before the first.
  const char* end() const { return room_.first == nullptr ? nullptr : room_.first + used_; }

  // All that was taken so far is a file from now on. 0, or an errno.
  int seal();

 private:
  bool reserve();

  Span room_{nullptr, 0};
  std::size_t used_ = 0;
  bool sealed_ = false;
};

// Makes the memory a private mapping of a sealed file that has the same bytes, page by page. It must be
// writable, and nothing may write to it meanwhile. 0, or an errno; the memory is then as it was.
int make_file_of(Span span);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_IMAGE_H_
