// The helper binary of the local provider. It lies inside the provider's library and is started from a
// sealed copy in memory, with descriptor 3 as its socket and nothing else. A template starts it a second
// time, by another name, as the init of a sandbox.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "helper/init.h"
#include "helper/launcher.h"

int main(int count, char** arguments) {
  using namespace berth::local;
  if (count == 3 && std::strcmp(arguments[0], kInitName) == 0) {
    resume_init(std::atoi(arguments[1]), static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10)));
  }
  constexpr int kSocket = 3;
  syscall(SYS_close_range, kSocket + 1u, ~0u, 0u);
  run_launcher(kSocket);
}
