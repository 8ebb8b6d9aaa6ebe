// Throws from every slot it can, with and without a class: none of it may reach the C host.
#include <stdexcept>
#include <string>

#include "berth/provider.hpp"

namespace {

class Throwing : public berth::Provider {
 public:
  berth::ProbeReport probe(berth::Operation&) override { throw std::runtime_error("probe"); }
  berth::Scope scope(berth::Operation&) override { throw 7; }
  berth::Created create(berth::Operation&, std::string_view, const berth::CreateSpec&) override {
    throw std::string("create");
  }
  berth::Found lookup(berth::Operation&, std::string_view) override {
    throw std::logic_error("lookup");
  }
  berth::Found fence(berth::Operation&, std::string_view) override {
    throw berth::Failure::uncertain(berth::Code::kUnavailable, "fence");
  }
  berth::RunResult run(berth::Operation&, std::string_view, const berth::Command&) override {
    throw 1;
  }
  void put_file(berth::Operation&, std::string_view, const berth::PutFile&) override { throw 2; }
  berth::GotFile get_file(berth::Operation&, std::string_view, const berth::GetFile&) override {
    throw 3;
  }
  berth::Destroyed destroy(berth::Operation&, std::string_view, std::string_view) override {
    throw 4;
  }
  berth::ListPage list_owned(berth::Operation&, std::string_view, std::string_view) override {
    throw 5;
  }
  void shutdown(berth::Operation&) override { throw std::runtime_error("shutdown"); }
};

}  // namespace

BERTH_PROVIDER(Throwing);
