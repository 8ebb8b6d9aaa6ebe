// berth version.
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sqlite3.h>

#include <boost/version.hpp>
#include <string>
#include <string_view>

#include "core/registry/inspect.h"
#include "tools/berth/commands.h"

namespace berth::cli {

Task<int> show_version(Context& context, VersionOptions) {
  const registry::HostOffer& offer = registry::host_offer();
  const std::string contract = fmt::format("{}.{}", offer.abi_major, offer.minor_max);
  if (context.common.json) {
    boost::json::object document;
    document["version"] = BERTH_VERSION;
    document["contract"] = contract;
    document["compiler"] = BERTH_COMPILER;
    document["boost"] = BOOST_LIB_VERSION;
    document["sqlite"] = sqlite3_libversion();
    document["openssl"] = OpenSSL_version(OPENSSL_VERSION_STRING);
    co_return to_int(print_json(context.console, std::move(document)));
  }
  co_return to_int(context.console.print(fmt::format(
      "berth {}\nprovider contract {}\nbuilt with {}; SQLite {}, OpenSSL {}\n", BERTH_VERSION,
      contract, BERTH_COMPILER, sqlite3_libversion(), OpenSSL_version(OPENSSL_VERSION_STRING))));
}

}  // namespace berth::cli
