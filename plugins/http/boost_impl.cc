// The one place where the Boost code that remote providers use is compiled. Their own, and not the
// host's: a provider's file carries all it needs.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
#include <boost/json/src.hpp>
#include <boost/url/src.hpp>
