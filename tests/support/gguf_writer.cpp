#include "tests/support/gguf_writer.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace paceline {
namespace {

constexpr std::size_t kAlignment = 32;
constexpr std::uint32_t kStringType = 8;
constexpr std::uint32_t kArrayType = 9;
constexpr std::uint32_t kInt32Type = 5;

void pad(std::string& out) { out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment); }

}  // namespace

std::string GgufWriter::raw_string(std::string_view text) {
  return raw_bytes(std::uint64_t{text.size()}).append(text);
}

void GgufWriter::set_string(std::string_view key, std::string_view value) {
  set_raw(key, kStringType, raw_string(value));
}

void GgufWriter::set_strings(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes = raw_bytes(kStringType) + raw_bytes(std::uint64_t{values.size()});
  for (const std::string& value : values) bytes += raw_string(value);
  set_raw(key, kArrayType, std::move(bytes));
}

void GgufWriter::set_int32s(std::string_view key, const std::vector<std::int32_t>& values) {
  std::string bytes = raw_bytes(kInt32Type) + raw_bytes(std::uint64_t{values.size()});
  for (const std::int32_t value : values) bytes += raw_bytes(value);
  set_raw(key, kArrayType, std::move(bytes));
}

void GgufWriter::set_raw(std::string_view key, std::uint32_t type, std::string bytes) {
  const auto it = std::ranges::find(values_, key, &Value::key);
  if (it == values_.end()) {
    values_.push_back({std::string(key), type, std::move(bytes)});
  } else {
    *it = {std::string(key), type, std::move(bytes)};
  }
}

void GgufWriter::remove_key(std::string_view key) {
  std::erase_if(values_, [&](const Value& value) { return value.key == key; });
}

void GgufWriter::remove_tensor(std::string_view name) {
  std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
}

GgufWriter::Tensor& GgufWriter::tensor(std::string_view name) {
  const auto it = std::ranges::find(tensors_, name, &Tensor::name);
  if (it == tensors_.end()) throw std::invalid_argument("no tensor " + std::string(name));
  return *it;
}

std::string GgufWriter::bytes() const {
  std::string out = "GGUF";
  out += raw_bytes(version_);
  out += raw_bytes(std::uint64_t{tensors_.size()});
  out += raw_bytes(std::uint64_t{values_.size()});
  for (const Value& value : values_) {
    out += raw_string(value.key) + raw_bytes(value.type) + value.bytes;
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    out += raw_string(tensor.name);
    out += raw_bytes(static_cast<std::uint32_t>(tensor.dimensions.size()));
    for (const std::uint64_t dimension : tensor.dimensions) out += raw_bytes(dimension);
    out += raw_bytes(tensor.type);
    out += raw_bytes(offset);
    offset += (tensor.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  pad(out);
  for (const Tensor& tensor : tensors_) {
    out += tensor.bytes;
    pad(out);
  }
  return out;
}

void GgufWriter::write(const std::filesystem::path& path) const { write_file(path, bytes()); }

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace paceline
