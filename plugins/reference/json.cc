// Boost.JSON, compiled into this provider: the project's Boost library also carries Asio, whose
// global objects would run code while the provider is being loaded.
#include <boost/json/src.hpp>
