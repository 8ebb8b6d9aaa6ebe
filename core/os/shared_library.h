// A loaded shared object, through Boost.DLL, and where its memory lies.
//
// It is never unloaded: destroying the handle would run foreign destructors and unmap code that a
// thread may still be in. Unloading is the end of the process.
#ifndef BERTH_CORE_OS_SHARED_LIBRARY_H_
#define BERTH_CORE_OS_SHARED_LIBRARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace berth::os {

// Cheap to copy: it names a library that stays.
class SharedLibrary {
 public:
  // Loads /proc/self/fd/<fd> with RTLD_NOW | RTLD_LOCAL. The descriptor must stay open for as long
  // as the process lives, since the dynamic linker knows the library by that name.
  static Result<SharedLibrary> load_descriptor(int fd);

  // The address of an exported symbol, or null.
  void* symbol(const char* name) const;

  // True when [address, address + size) lies in one loaded segment of this library.
  bool contains(const void* address, std::uint64_t size) const;
  // True when `address` lies in an executable segment of it.
  bool contains_code(const void* address) const;

 private:
  struct Segment {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool executable;
  };
  void* handle_ = nullptr;  // of boost::dll::shared_library, never destroyed
  std::vector<Segment> segments_;
};

}  // namespace berth::os

#endif  // BERTH_CORE_OS_SHARED_LIBRARY_H_
