// One whole file in or out, through the service's own file calls.
#ifndef BERTH_PLUGINS_VERCEL_FILES_H_
#define BERTH_PLUGINS_VERCEL_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/async_provider.hpp"
#include "plugins/vercel/api.h"
#include "plugins/vercel/commands.h"

namespace berth::vercel {

// One thread; what it is given outlives it.
class Files {
 public:
  Files(Api& api, Commands& commands) : api_(api), commands_(commands) {}

  Awaitable<void> put(AsyncOperation& operation, std::string session, const PutFile& file);
  Awaitable<GotFile> get(AsyncOperation& operation, std::string session, const GetFile& file);

  // Puts these bytes into a file and, when that is whole, an empty one beside it whose name ends in
  // ".ok". May be repeated. Throws http::TransportFailure; any status is an Answer.
  Awaitable<Answer> put_part(AsyncOperation& operation, std::string session, std::string path,
                             std::string_view bytes);

 private:
  struct Described {
    std::uint64_t bytes = 0;
    std::uint32_t mode = 0;
  };

  // One archive with one file of so many bytes, which `next` fills.
  Awaitable<void> upload(AsyncOperation& operation, std::string session, std::string path,
                         std::uint64_t bytes, http::BodySource next);
  Awaitable<void> move(AsyncOperation& operation, std::string session, std::string piece, int parts,
                       std::string target, std::uint32_t mode);
  Awaitable<Described> describe(AsyncOperation& operation, std::string session, std::string path,
                                std::uint64_t bytes_max);
  Awaitable<void> remove_quietly(AsyncOperation& operation, std::string session, std::string piece,
                                 int parts);

  Api& api_;
  Commands& commands_;
};

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_FILES_H_
