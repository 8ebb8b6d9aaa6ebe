// Reading the JSON of a request, and writing the JSON of an answer.
#ifndef BERTH_TESTS_STANDINS_SERVER_BODY_H_
#define BERTH_TESTS_STANDINS_SERVER_BODY_H_

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/lifecycle/provider.h"
#include "tests/standins/server/http.h"

namespace berth::standins {

// The body as an object; an empty body is an empty one. Anything else throws std::runtime_error, which
// the front answers as the service answers what it cannot read.
boost::json::object body_of(const Request& request);

// A member of this type, or `otherwise` when it is not there or null; of another type: throws.
std::string text_of(const boost::json::object& object, std::string_view key, std::string otherwise = {});
std::int64_t number_of(const boost::json::object& object, std::string_view key, std::int64_t otherwise);
bool flag_of(const boost::json::object& object, std::string_view key, bool otherwise);
boost::json::object object_of(const boost::json::object& object, std::string_view key);
// Names and values that are text.
Environment environment_of(const boost::json::object& object, std::string_view key);

Response json_answer(int status, const boost::json::value& value);
Response empty_answer(int status);

// "2026-11-29T22:52:29.123Z", and milliseconds since 1970.
std::string now_text();
std::int64_t now_ms();

// Of what the agent said about a file: "-rw-r--r--".
std::string mode_text(std::uint32_t mode);

// `path` as an absolute one of the guest. What lies below `home`, which is the service's name for the folder
// programs begin in, lies below the guest's work folder; so does what is relative, below `folder`.
std::string guest_path(std::string_view path, std::string_view home, std::string_view folder);

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_BODY_H_
