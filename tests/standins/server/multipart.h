// multipart/form-data: taken apart, whole bodies only.
#ifndef BERTH_TESTS_STANDINS_SERVER_MULTIPART_H_
#define BERTH_TESTS_STANDINS_SERVER_MULTIPART_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::standins {

struct Part {
  std::string name;
  std::string file_name;
  std::string_view contents;  // of the body it was found in
};

// The parts of `body`, whose Content-Type is `type`. Nothing when it is not whole.
std::optional<std::vector<Part>> parts_of(std::string_view type, std::string_view body);

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_MULTIPART_H_
