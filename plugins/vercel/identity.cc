#include "plugins/vercel/identity.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "berth/outcome.hpp"
#include "plugins/vercel/encoding.h"
#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;

struct Claims {
  std::string issuer;
  std::string owner;
  std::string project;
  std::uint64_t expires_unix_s = 0;
};

[[noreturn]] void unavailable() {
  throw Failure::rejected(
      Code::kUnauthenticated,
      "Sandbox provider identity is unavailable. Set VERCEL_OIDC_TOKEN, or VERCEL_TEAM_ID, "
      "VERCEL_PROJECT_ID and VERCEL_TOKEN.");
}

bool is_jwt(std::string_view token) { return std::count(token.begin(), token.end(), '.') == 2; }

// The claims of a token that is not verified here: the service does that. Nothing when it cannot
// be read.
std::optional<Claims> claims_of(std::string_view token) {
  const auto first = token.find('.');
  const auto second = token.find('.', first + 1);
  auto payload = from_base64(token.substr(first + 1, second - first - 1));
  if (!payload) return std::nullopt;
  boost::system::error_code wrong;
  json::value value = json::parse(*payload, wrong);
  http::wipe(*payload);
  const auto* object = wrong ? nullptr : value.if_object();
  if (object == nullptr) return std::nullopt;
  Claims out;
  out.issuer = text_of(*object, "iss");
  out.owner = text_of(*object, "owner_id");
  out.project = text_of(*object, "project_id");
  out.expires_unix_s = number_of(*object, "exp");
  return out;
}

}  // namespace

std::string variable(const Host& host, std::string_view name) {
  const std::string text = host.secret(name).value_or("");
  constexpr std::string_view kBlank = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

Identity read_identity(const Host& host) {
  Identity out;
  out.token = http::Secret(variable(host, "VERCEL_TOKEN"));
  out.team = variable(host, "VERCEL_TEAM_ID");
  out.project = variable(host, "VERCEL_PROJECT_ID");
  const bool configured = !out.token.empty() && !out.team.empty() && !out.project.empty();
  if (configured && !is_jwt(out.token.reveal())) {
    out.fingerprint = http::fingerprint(out.token);
    return out;
  }
  if (!configured) out.token = http::Secret(variable(host, "VERCEL_OIDC_TOKEN"));
  if (out.token.empty() || !is_jwt(out.token.reveal())) unavailable();
  const auto claims = claims_of(out.token.reveal());
  if (!claims) unavailable();
  // The claims decide at the service, whatever is configured.
  if (configured && (claims->owner != out.team || claims->project != out.project))
    throw Failure::rejected(Code::kUnauthenticated,
                            "Sandbox token and configured provider scope do not match.");
  if (claims->owner.empty() || claims->project.empty()) unavailable();
  out.team = claims->owner;
  out.project = claims->project;
  out.expires_unix_s = claims->expires_unix_s;
  out.fingerprint =
      http::sha256_hex("oidc\n" + claims->issuer + "\n" + out.team + "\n" + out.project);
  return out;
}

}  // namespace berth::vercel
