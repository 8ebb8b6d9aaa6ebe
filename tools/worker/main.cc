// berth-worker: one provider's own process, of one host or, with --keep, of one user. Started by a host,
// never by hand.
#include "core/plugin/worker_main.h"

int main(int argc, char** argv) { return berth::plugin::serve_as_worker(argc, argv); }
