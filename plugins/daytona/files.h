// One whole file in or out, through the service's own file calls.
#ifndef BERTH_PLUGINS_DAYTONA_FILES_H_
#define BERTH_PLUGINS_DAYTONA_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/daytona/api.h"

namespace berth::daytona {

// One thread; the Api outlives it.
class Files {
 public:
  explicit Files(Api& api) : api_(api) {}

  Awaitable<void> put(AsyncOperation& operation, std::string ref, const PutFile& file);
  Awaitable<GotFile> get(AsyncOperation& operation, std::string ref, const GetFile& file);

 private:
  Awaitable<Answer> upload(AsyncOperation& operation, Url toolbox, std::string path,
                           std::uint64_t size);
  struct Described {
    std::uint64_t bytes = 0;
    std::uint32_t mode = 0;
  };

  Awaitable<std::string> shell(AsyncOperation& operation, Url toolbox, std::string line,
                               std::string purpose, http::Repeat repeat);
  Awaitable<Described> describe(AsyncOperation& operation, Url toolbox, std::string path);
  Awaitable<void> remove_quietly(Url toolbox, std::string path);

  Api& api_;
};

// A name that nobody else uses.
std::string fresh_name(std::string_view prefix);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_FILES_H_
