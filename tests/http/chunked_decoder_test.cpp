#include "http/chunked_decoder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace paceline {
namespace {

struct Decoded {
  std::string body;
  std::string rest;
  bool is_done = false;
  bool is_refused = false;
};

/// Feeds the bytes `step` at a time, as a connection keeps what was not used.
Decoded decode(const std::string& bytes, std::size_t step) {
  ChunkedDecoder decoder;
  Decoded decoded;
  for (std::size_t next = 0; next < bytes.size(); next += step) {
    decoded.rest += bytes.substr(next, step);
    const auto used = decoder.decode(decoded.rest, decoded.body);
    if (!used) {
      decoded.is_refused = true;
      return decoded;
    }
    decoded.rest.erase(0, *used);
  }
  decoded.is_done = decoder.is_done();
  return decoded;
}

TEST(ChunkedDecoderTest, BodyIsTheSameHoweverItsBytesArrive) {
  const std::string bytes =
      "1\r\nh\r\n00A;a=b;c=\"d e\"\r\nello world\r\n1 ; x\r\n!\r\n0\r\nX-T: 1\r\nY:\r\n\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const Decoded decoded = decode(bytes, step);

    EXPECT_TRUE(decoded.is_done) << step;
    EXPECT_EQ(decoded.body, "hello world!") << step;
    EXPECT_EQ(decoded.rest, "") << step;
  }
}

TEST(ChunkedDecoderTest, BytesBehindTheBodyAreLeft) {
  const Decoded decoded = decode("2\r\n{}\r\n0\r\n\r\nGET /", 100);

  EXPECT_TRUE(decoded.is_done);
  EXPECT_EQ(decoded.rest, "GET /");
}

TEST(ChunkedDecoderTest, WhatIsNotExactlyAChunkIsRefused) {
  using namespace std::string_literals;
  for (const std::string& bytes : {"zz\r\n"s,
                                   "\r\n"s,
                                   "-1\r\n"s,
                                   "+1\r\n"s,
                                   "0x1\r\nh\r\n"s,
                                   "1\nh\n"s,
                                   "1 h\r\n"s,
                                   "1\r\nhX\r\n0\r\n\r\n"s,
                                   "1\r\nh\n"s,
                                   "FFFFFFFFFFFFFFFFF\r\n"s,
                                   " 1\r\n"s,
                                   "1\r\r\n"s,
                                   "1;\0\r\n"s,
                                   "1;a\rb\r\n"s,
                                   "0\r\nno colon\r\n\r\n"s,
                                   "0\r\n: x\r\n\r\n"s,
                                   "0\r\na b: x\r\n\r\n"s,
                                   "0\r\na: x\n\r\n"s,
                                   "1;"s + std::string(5000, 'a'),
                                   "0\r\na: "s + std::string(5000, 'a')}) {
    EXPECT_TRUE(decode(bytes, bytes.size()).is_refused) << bytes.substr(0, 40);
  }
}

TEST(ChunkedDecoderTest, TrailersAreBounded) {
  std::string bytes = "0\r\n";
  for (int i = 0; i < 10; ++i) bytes += "a: " + std::string(2000, 'b') + "\r\n";

  EXPECT_TRUE(decode(bytes, 1000).is_refused);
}

}  // namespace
}  // namespace paceline
