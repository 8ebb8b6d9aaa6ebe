// A global object is built while the library is loaded, and keeps a file open.
#include <fcntl.h>

#include "tests/plugins/broken/twin.h"

namespace {
struct Log {
  int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
};
Log log_file;
}  // namespace

extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  return log_file.fd < 0 ? 1 : berth::broken::enter(offer, reply);
}
