// The part of the configuration that says where packages are installed from:
//
//   "python": {
//     "indexUrl": "https://user:password@index.example/simple/",
//     "extraIndexUrls": [...], "findLinks": ["/srv/wheels", "https://..."], "noIndex": false,
//     "fileHosts": ["files.example:443"],   hosts of files, when the index's pages lead elsewhere
//     "trustedHosts": [...], "certificates": "/etc/ssl/own.pem",
//     "cache": "2G", "timeout": "3m", "idleTimeout": "30s"
//   }
#ifndef BERTH_TOOLS_BERTH_PACKAGE_SETTINGS_H_
#define BERTH_TOOLS_BERTH_PACKAGE_SETTINGS_H_

#include <boost/json/value.hpp>
#include <string>

#include "core/execution/install/package_index.h"

namespace berth::cli {

// Errors name the path of what is wrong and never repeat a URL, which may carry a password.
Status read_package_settings(const boost::json::value& from, const std::string& path,
                             PackageIndex& into);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_PACKAGE_SETTINGS_H_
