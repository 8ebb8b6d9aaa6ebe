// The provider class, apart from its source so that the unit test can see it.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "berth/provider.hpp"

class Hello : public berth::Provider {
 public:
  berth::ProbeReport probe(berth::Operation&) override;
  berth::Scope scope(berth::Operation&) override;
  berth::Created create(berth::Operation&, std::string_view name,
                        const berth::CreateSpec&) override;
  berth::Found lookup(berth::Operation&, std::string_view name) override;
  berth::RunResult run(berth::Operation&, std::string_view ref, const berth::Command&) override;
  void put_file(berth::Operation&, std::string_view ref, const berth::PutFile&) override;
  berth::GotFile get_file(berth::Operation&, std::string_view ref, const berth::GetFile&) override;
  berth::Destroyed destroy(berth::Operation&, std::string_view name, std::string_view ref) override;
  berth::ListPage list_owned(berth::Operation&, std::string_view owner_tag,
                             std::string_view cursor) override;

 private:
  struct Sandbox {
    std::string owner_tag;
    std::map<std::string, std::pair<std::string, std::uint32_t>> files;  // path: bytes, mode
  };

  // The sandbox of a reference. Throws when there is none. Under the mutex.
  Sandbox& at(std::string_view ref);

  std::mutex mutex_;
  std::map<std::string, Sandbox, std::less<>> sandboxes_;
};
