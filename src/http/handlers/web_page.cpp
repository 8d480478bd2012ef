#include "http/handlers/web_page.h"

#include <algorithm>
#include <string>

#include "http/embedded_files.h"
#include "http/http_exchange.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

/// `/` is the page itself, `/ui/a/b` the file a/b.
std::string file_path(const std::vector<std::string>& path) {
  if (path.size() == 1) return "index.html";
  std::string joined = path[1];
  for (std::size_t i = 2; i < path.size(); ++i) joined += "/" + path[i];
  return joined;
}

}  // namespace

asio::awaitable<void> WebPageHandler::handle(HttpExchange& exchange) const {
  exchange.add_header("x-content-type-options", "nosniff");
  exchange.add_header("content-security-policy",
                      "default-src 'self'; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'; object-src 'none'");
  const std::string path = file_path(exchange.request().path);
  const auto files = embedded_files();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&path](const EmbeddedFile& f) { return f.path == path; });
  if (file == files.end()) {
    Error error{ErrorCode::kNotFound, "there is no such file"};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  HttpResponse response;
  response.headers.push_back({"content-type", std::string(file->content_type)});
  response.headers.push_back({"cache-control", "no-cache"});
  response.body = std::string(file->bytes);
  co_await exchange.send(std::move(response));
}

}  // namespace paceline
