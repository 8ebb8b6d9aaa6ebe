// What a create asks of the service.
#ifndef BERTH_PLUGINS_DAYTONA_CREATE_BODY_H_
#define BERTH_PLUGINS_DAYTONA_CREATE_BODY_H_

#include <string>
#include <string_view>

#include "berth/values.hpp"
#include "plugins/daytona/config.h"

namespace berth::daytona {

// The body of POST /sandbox. Throws Failure::rejected for what the service cannot keep: nothing is
// silently made weaker. [RUN-007]
std::string create_body(const Settings& settings, std::string_view name, const CreateSpec& spec);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_CREATE_BODY_H_
