// The pieces of a multipart/form-data body, for callers that stream the contents between them.
//
//   MultipartForm form;
//   body = form.field("path", "/tmp/a") + form.file_head("file", "a") + contents + form.end();
//
// Values; any thread.
#ifndef BERTH_PLUGINS_HTTP_MULTIPART_H_
#define BERTH_PLUGINS_HTTP_MULTIPART_H_

#include <string>
#include <string_view>

namespace berth::http {

class MultipartForm {
 public:
  MultipartForm();  // with a boundary that nothing contains but by a chance of 1 in 2^128

  std::string content_type() const { return "multipart/form-data; boundary=" + boundary_; }
  // A whole part of text.
  std::string field(std::string_view name, std::string_view value) const;
  // The head of a part; the contents and file_end() follow.
  std::string file_head(std::string_view name, std::string_view file_name,
                        std::string_view content_type = "application/octet-stream") const;
  static std::string_view file_end() { return "\r\n"; }
  std::string end() const { return "--" + boundary_ + "--\r\n"; }

 private:
  std::string boundary_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_MULTIPART_H_
