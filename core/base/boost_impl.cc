// The one place where the Boost libraries used header-only are compiled.
#include <boost/asio/impl/src.hpp>
#include <boost/json/src.hpp>
