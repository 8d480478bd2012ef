#include "http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

#include "http/chunked_decoder.h"
#include "http/head_check.h"
#include "http/http_options.h"
#include "http/request_target.h"

namespace paceline {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

HttpMethod to_method(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return HttpMethod::kGet;
    case http::verb::head:
      return HttpMethod::kHead;
    case http::verb::post:
      return HttpMethod::kPost;
    case http::verb::delete_:
      return HttpMethod::kDelete;
    case http::verb::options:
      return HttpMethod::kOptions;
    default:
      return HttpMethod::kOther;
  }
}

std::string to_string(beast::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

class RequestParser::Impl {
 public:
  explicit Impl(const HttpOptions& options) : scanner_(options) {
    // The scanner has the real limits; Beast's must only be no lower.
    parser_.header_limit(
        static_cast<std::uint32_t>(options.max_request_line_bytes + options.max_header_bytes + 16));
    parser_.body_limit(boost::none);
  }

  Result<std::size_t> parse_head(std::string_view input) {
    const auto size = scanner_.scan(input);
    if (!size || *size == 0) return size;
    const std::string_view head = input.substr(0, *size);
    auto framing = check_head(head);
    if (!framing) return tl::unexpected(framing.error());
    framing_ = *framing;
    missing_bytes_ = framing_.content_length.value_or(0);
    beast::error_code error;
    const std::size_t used = parser_.put(boost::asio::buffer(head), error);
    if (error || used != head.size() || !parser_.is_header_done()) {
      return fail(ErrorCode::kMalformedRequest, "the request head is not HTTP/1.1");
    }
    if (auto made = make_request(); !made) return tl::unexpected(made.error());
    return *size;
  }

  Result<std::size_t> parse_body(std::string_view input, std::string& body) {
    if (framing_.is_chunked) return chunks_.decode(input, body);
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(missing_bytes_, input.size()));
    body.append(input.substr(0, size));
    missing_bytes_ -= size;
    return size;
  }

  HttpRequest& request() { return request_; }
  const BodyFraming& framing() const { return framing_; }
  bool keep_alive() const { return parser_.keep_alive(); }
  bool is_done() const { return framing_.is_chunked ? chunks_.is_done() : missing_bytes_ == 0; }

 private:
  Result<void> make_request() {
    const auto& message = parser_.get();
    request_.method = to_method(message.method());
    request_.method_text = to_string(message.method_string());
    request_.target = to_string(message.target());
    request_.minor_version = static_cast<int>(message.version() % 10);
    for (const auto& field : message) {
      request_.headers.push_back({to_string(field.name_string()), to_string(field.value())});
    }
    // The target of CONNECT is not a path; the method is refused later.
    if (message.method() == http::verb::connect) return {};
    auto target = parse_request_target(request_.target);
    if (!target) return tl::unexpected(target.error());
    request_.path = std::move(target->path);
    request_.is_asterisk = target->is_asterisk;
    return {};
  }

  HeadScanner scanner_;
  http::request_parser<http::empty_body> parser_;  // of the head only
  BodyFraming framing_;
  std::uint64_t missing_bytes_ = 0;  // of a body with a length
  ChunkedDecoder chunks_;
  HttpRequest request_;
};

RequestParser::RequestParser(const HttpOptions& options) : impl_(std::make_unique<Impl>(options)) {}
RequestParser::~RequestParser() = default;

Result<std::size_t> RequestParser::parse_head(std::string_view input) {
  return impl_->parse_head(input);
}
HttpRequest RequestParser::take_request() { return std::move(impl_->request()); }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
std::optional<std::uint64_t> RequestParser::content_length() const {
  return impl_->framing().content_length;
}
bool RequestParser::is_body_complete() const { return impl_->is_done(); }
Result<std::size_t> RequestParser::parse_body(std::string_view input, std::string& body) {
  return impl_->parse_body(input, body);
}

}  // namespace paceline
