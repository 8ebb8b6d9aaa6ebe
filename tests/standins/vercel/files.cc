// Files of a session: archives go in, single files come out.
#include <errno.h>

#include <utility>

#include "tests/standins/vercel/vercel.h"

namespace berth::standins::vercel {

void Vercel::add_files() {
  add("POST /v2/sandboxes/sessions/{session}/fs/write", &Vercel::write_files);
  add("POST /v2/sandboxes/sessions/{session}/fs/read", &Vercel::read_file);
  add("POST /v2/sandboxes/sessions/{session}/fs/mkdir", &Vercel::make_folder);
}

// What an archive from the root names below the service's home lies below the work folder.
Task<Response> Vercel::write_files(Call& call) {
  const SessionPointer session = running(call);
  std::string folder(call.request.header("x-cwd"));
  if (folder.empty()) folder = kWorkFolder;
  Program program;
  program.argv = {"/bin/tar", "-xzf", "-", "--no-same-owner", "-C", guest_path(folder, kHome, kWorkFolder)};
  if (folder == "/") program.argv.insert(program.argv.end(), {"--transform", "s,^\\(\\./\\)\\?vercel/sandbox/,workspace/,"});
  const std::shared_ptr<Job> job = co_await session->guest->finish(std::move(program), call.request.body);
  if (job->exit_code() != 0) {
    throw Refused{400, "bad_request", "The archive could not be unpacked: " + job->transcript.of(kErr)};
  }
  const boost::json::object body;
  co_return json_answer(200, body);
}

Task<Response> Vercel::read_file(Call& call) {
  const SessionPointer session = running(call);
  const boost::json::object body = body_of(call.request);
  const std::string folder = guest_path(text_of(body, "cwd"), kHome, kWorkFolder);
  const std::string path = guest_path(text_of(body, "path"), kHome, folder);
  Response response;
  const int error = co_await session->guest->read_file(path, &response.body);
  if (error == ENOENT || error == ENOTDIR) throw Refused{404, "not_found", "File not found"};
  if (error != 0) throw Refused{400, "bad_request", "The path cannot be read as a file"};
  response.type = "application/octet-stream";
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"file\"");
  co_return response;
}

Task<Response> Vercel::make_folder(Call& call) {
  const SessionPointer session = running(call);
  const boost::json::object body = body_of(call.request);
  const std::string folder = guest_path(text_of(body, "cwd"), kHome, kWorkFolder);
  const std::string path = guest_path(text_of(body, "path"), kHome, folder);
  if (!flag_of(body, "recursive", true)) {
    FileEntry entry;
    const int there = co_await session->guest->stat(path, &entry);
    if (there == 0) throw Refused{400, "bad_request", "The path exists"};
    const int parent = co_await session->guest->stat(path.substr(0, path.rfind('/')), &entry);
    if (parent != 0) throw Refused{404, "path_not_found", "The folder it would be in does not exist"};
  }
  const int error = co_await session->guest->make_folder(path, 0755);
  if (error != 0) throw Refused{400, "bad_request", "The folder cannot be made"};
  const boost::json::object answer;
  co_return json_answer(200, answer);
}

}  // namespace berth::standins::vercel
