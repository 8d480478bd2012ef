#include "http/head_check.h"

#include <gtest/gtest.h>

#include <string>

#include "http/http_options.h"

namespace paceline {
namespace {

const HttpOptions kOptions;

Result<std::size_t> scan_all(const std::string& bytes, const HttpOptions& options = kOptions) {
  HeadScanner scanner(options);
  return scanner.scan(bytes);
}

TEST(HeadScannerTest, HeadEndsAtTheFirstEmptyLine) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

  EXPECT_EQ(scan_all(head + "GET / HTTP/1.1\r\n\r\n").value(), head.size());
}

TEST(HeadScannerTest, SplitAtAnyByteGivesTheSame) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t split = 0; split < head.size(); ++split) {
    HeadScanner scanner(kOptions);

    EXPECT_EQ(scanner.scan(head.substr(0, split)).value(), 0U) << split;
    EXPECT_EQ(scanner.scan(head).value(), head.size()) << split;
  }
}

TEST(HeadScannerTest, OtherLineEndsAndZeroBytesAreRefused) {
  using namespace std::string_literals;
  for (const std::string& head :
       {"GET / HTTP/1.1\nHost: a\r\n\r\n"s, "GET / HTTP/1.1\r\nHost: a\n\n"s,
        "GET / HTTP/1.1\r\nHo\rst: a\r\n\r\n"s, "GET / HTTP/1.1\r\nA: \0\r\n\r\n"s, "\n"s,
        "\r\nGET / HTTP/1.1\r\n\r\n"s}) {
    const auto size = scan_all(head);

    ASSERT_FALSE(size.has_value()) << head;
    EXPECT_EQ(size.error().code, ErrorCode::kMalformedRequest);
  }
}

TEST(HeadScannerTest, RequestLineOfTheLimitPassesAndOneByteMoreDoesNot) {
  HttpOptions options;
  options.max_request_line_bytes = 30;
  const std::string line = "GET /" + std::string(16, 'a') + " HTTP/1.1";
  ASSERT_EQ(line.size(), 30U);

  EXPECT_TRUE(scan_all(line + "\r\nHost: a\r\n\r\n", options).has_value());
  const auto longer = scan_all("X" + line + "\r\nHost: a\r\n\r\n", options);
  EXPECT_EQ(longer.error().code, ErrorCode::kUriTooLong);
  EXPECT_EQ(scan_all(std::string(33, 'a'), options).error().code, ErrorCode::kUriTooLong);
}

TEST(HeadScannerTest, HeadersOfTheLimitPassAndOneByteMoreDoesNot) {
  HttpOptions options;
  options.max_header_bytes = 20;
  const std::string line = "GET / HTTP/1.1\r\n";

  EXPECT_TRUE(scan_all(line + "A: " + std::string(15, 'b') + "\r\n\r\n", options).has_value());
  const auto larger = scan_all(line + "A: " + std::string(16, 'b') + "\r\n\r\n", options);
  EXPECT_EQ(larger.error().code, ErrorCode::kHeadersTooLarge);
}

TEST(HeadScannerTest, NumberOfHeadersIsBounded) {
  HttpOptions options;
  options.max_headers = 3;
  const std::string line = "GET / HTTP/1.1\r\n";

  EXPECT_TRUE(scan_all(line + "A: 1\r\nA: 2\r\nA: 3\r\n\r\n", options).has_value());
  const auto more = scan_all(line + "A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n\r\n", options);
  EXPECT_EQ(more.error().code, ErrorCode::kHeadersTooLarge);
}

struct HeadCase {
  const char* headers;
  ErrorCode code;
};

TEST(CheckHeadTest, WhatTwoReadersCouldTakeDifferentlyIsRefused) {
  for (const auto& [headers, code] : {
           HeadCase{"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
                    ErrorCode::kMalformedRequest},
           HeadCase{"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
                    ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: 1\r\nContent-Length: 2\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: 1\r\ncontent-length: 1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: 1, 1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: +1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: -1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: 0x1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length:\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length: 18446744073709551616\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Content-Length : 1\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"A: 1\r\n folded\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"no colon\r\n", ErrorCode::kMalformedRequest},
           HeadCase{": no name\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Host: b\r\n", ErrorCode::kMalformedRequest},
           HeadCase{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                    ErrorCode::kMalformedRequest},
           HeadCase{"Transfer-Encoding: gzip, chunked\r\n", ErrorCode::kNotImplemented},
           HeadCase{"Transfer-Encoding: identity\r\n", ErrorCode::kNotImplemented},
       }) {
    const auto framing =
        check_head("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n");

    ASSERT_FALSE(framing.has_value()) << headers;
    EXPECT_EQ(framing.error().code, code) << headers;
  }
}

TEST(CheckHeadTest, HostIsRequiredExceptInHttp10) {
  EXPECT_FALSE(check_head("GET / HTTP/1.1\r\n\r\n").has_value());
  EXPECT_TRUE(check_head("GET / HTTP/1.0\r\n\r\n").has_value());
}

TEST(CheckHeadTest, ChunkedCodingIsRefusedInHttp10) {
  EXPECT_FALSE(check_head("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").has_value());
}

TEST(CheckHeadTest, LengthAndCodingAreRead) {
  const auto sized = check_head("POST / HTTP/1.1\r\nHost: a\r\nCONTENT-LENGTH: \t12 \r\n\r\n");
  const auto chunked =
      check_head("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n");

  EXPECT_EQ(sized->content_length, 12U);
  EXPECT_FALSE(sized->is_chunked);
  EXPECT_EQ(chunked->content_length, std::nullopt);
  EXPECT_TRUE(chunked->is_chunked);
}

}  // namespace
}  // namespace paceline
