// The helper binary of the local provider. It lies inside the provider's library and is started from a
// sealed copy in memory, with descriptor 3 as its socket and nothing else.
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/launcher.h"

int main() {
  constexpr int kSocket = 3;
  syscall(SYS_close_range, kSocket + 1u, ~0u, 0u);
  berth::local::run_launcher(kSocket);
}
