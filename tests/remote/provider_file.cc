#include "tests/remote/provider_file.h"

#include <dlfcn.h>

#include <stdexcept>

namespace berth::tests {

berth_provider_entry_fn entry_of(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  void* const entry = ::dlsym(library, BERTH_ENTRY_SYMBOL);
  if (entry == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<berth_provider_entry_fn>(entry);
}

}  // namespace berth::tests
