// What berth doctor works with where this user's own state cannot be used: the checks of everything else
// need a state folder all the same.
#ifndef BERTH_TOOLS_BERTH_DOCTOR_STATE_H_
#define BERTH_TOOLS_BERTH_DOCTOR_STATE_H_

#include <filesystem>
#include <memory>

#include "tools/berth/context.h"
#include "tools/berth/doctor_checks.h"
#include "tools/berth/failure.h"
#include "tools/berth/host.h"

namespace berth::cli {

// The host to check providers with. Must be closed before it is destroyed.
class DoctorState {
 public:
  // Says in `checks` what is wrong with this user's state, and goes on in a folder of its own then. A
  // configuration that is wrong is the failure.
  static Task<Tried<std::unique_ptr<DoctorState>>> open(const Context& context, Checks& checks);

  Host* host();  // null: there is none at all, which a check says
  // Ends the workers and removes a folder of its own, unless a sandbox is recorded there that may
  // still exist, which a check then says.
  Task<void> close(Checks& checks);

 private:
  std::unique_ptr<Host> host_;
  std::filesystem::path own_folder_;  // empty: the host has this user's state
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_DOCTOR_STATE_H_
