// berth-worker: one provider's own process. Started by a host, never by hand.
#include "core/plugin/worker_main.h"

int main() { return berth::plugin::serve_as_worker(); }
