// Validates a provider's configuration against the JSON Schema in its manifest.
//
// The subset that is understood: type, properties, required, additionalProperties, items, enum,
// const, minimum, maximum, minLength, maxLength, minItems, maxItems, uniqueItems, $defs and local
// $ref; annotations are passed over. Any other keyword is an error, since skipping it would accept
// what the provider means to refuse.
#ifndef BERTH_CORE_REGISTRY_CONFIG_SCHEMA_H_
#define BERTH_CORE_REGISTRY_CONFIG_SCHEMA_H_

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace berth::registry {

inline constexpr std::size_t kSchemaDepthMax = 32;
inline constexpr std::size_t kSchemaFaultsMax = 16;

// One sentence per fault, each naming the place under `path`; empty when the value fits.
std::vector<std::string> schema_faults(const boost::json::object& schema,
                                       const boost::json::value& value, std::string_view path);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_CONFIG_SCHEMA_H_
