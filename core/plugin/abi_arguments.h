// One operation's arguments as the ABI wants them.
//
// Points into the request, which must outlive it; together they live until the operation completes.
#ifndef BERTH_CORE_PLUGIN_ABI_ARGUMENTS_H_
#define BERTH_CORE_PLUGIN_ABI_ARGUMENTS_H_

#include <string>
#include <vector>

#include "core/plugin/request.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {

class AbiArguments {
 public:
  AbiArguments() = default;
  AbiArguments(const AbiArguments&) = delete;
  AbiArguments& operator=(const AbiArguments&) = delete;

  // Calls the request's slot. The operation may complete before this returns; the caller keeps both
  // objects until it has returned and the operation is complete.
  void call(const berth_provider_v1& table, void* self, berth_op op, const Request& request);

 private:
  struct Call;

  const berth_limits* limits(const Limits& limits);
  berth_pair_list pairs(const Environment& list);
  berth_str_list texts(const std::vector<std::string>& list);

  berth_open_spec open_{};
  berth_create_spec create_{};
  berth_command command_{};
  berth_put_file_spec put_file_{};
  berth_get_file_spec get_file_{};
  berth_limits limits_{};
  std::vector<berth_str> texts_;
  std::vector<berth_pair> pairs_;
};

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_ABI_ARGUMENTS_H_
