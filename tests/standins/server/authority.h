// An authority of a stand-in's own, made when it starts, that vouches for localhost and for nothing else.
#ifndef BERTH_TESTS_STANDINS_SERVER_AUTHORITY_H_
#define BERTH_TESTS_STANDINS_SERVER_AUTHORITY_H_

#include <string>

#include "core/base/result.h"

namespace berth::standins {

// PEM text each. The authority's own key is gone when this is returned.
struct Certificates {
  std::string authority;    // what a client must trust
  std::string certificate;  // for localhost, 127.0.0.1 and ::1
  std::string key;
};

Result<Certificates> make_certificates();

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_AUTHORITY_H_
