// The body of a create request.
#ifndef BERTH_PLUGINS_VERCEL_CREATE_BODY_H_
#define BERTH_PLUGINS_VERCEL_CREATE_BODY_H_

#include <string>
#include <string_view>

#include "berth/values.hpp"
#include "plugins/vercel/config.h"

namespace berth::vercel {

// Throws Failure::rejected for what the service cannot do.
std::string create_body(const Settings& settings, std::string_view name, const CreateSpec& spec);

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_CREATE_BODY_H_
