#define BOOST_DLL_USE_STD_FS
#include "core/os/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <boost/dll/shared_library.hpp>

namespace berth::os {
namespace {

struct Lookup {
  std::string name;
  const link_map* map;
  std::vector<const ElfW(Phdr)*> headers;
  bool found = false;
};

int visit(dl_phdr_info* info, std::size_t, void* user) {
  auto& lookup = *static_cast<Lookup*>(user);
  if (info->dlpi_addr != lookup.map->l_addr || lookup.name != info->dlpi_name) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) lookup.headers.push_back(&info->dlpi_phdr[i]);
  lookup.found = true;
  return 1;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::load_descriptor(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  boost::dll::shared_library library;
  boost::dll::fs::error_code code;
  ::dlerror();
  library.load(path, code, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  if (code) {
    const char* why = ::dlerror();
    std::string text = why != nullptr ? why : code.message();
    // The path of the copy in memory says nothing to whoever knows the file by its name.
    if (const std::string prefix = path + ": "; text.starts_with(prefix)) text.erase(0, prefix.size());
    return fail(ErrorKind::kRefused, fmt::format("the dynamic linker refuses it: {}", text));
  }
  // A second reference, which nobody gives back: the library stays when the first one ends with this function.
  void* const native = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (native == nullptr || ::dlinfo(native, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return fail(ErrorKind::kInternal, "the dynamic linker does not say where the library lies");
  Lookup lookup{map->l_name, map, {}, false};
  ::dl_iterate_phdr(&visit, &lookup);
  if (!lookup.found)
    return fail(ErrorKind::kInternal, "the library is not among the loaded objects");
  SharedLibrary result;
  for (const ElfW(Phdr)* header : lookup.headers) {
    if (header->p_type != PT_LOAD) continue;
    const std::uintptr_t begin = map->l_addr + header->p_vaddr;
    result.segments_.push_back({begin, begin + header->p_memsz, (header->p_flags & PF_X) != 0});
  }
  result.handle_ = native;
  return result;
}

void* SharedLibrary::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

bool SharedLibrary::contains(const void* address, std::uint64_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (const Segment& segment : segments_)
    if (begin >= segment.begin && begin <= segment.end && segment.end - begin >= size) return true;
  return false;
}

bool SharedLibrary::contains_code(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Segment& segment : segments_)
    if (segment.executable && at >= segment.begin && at < segment.end) return true;
  return false;
}

}  // namespace berth::os
