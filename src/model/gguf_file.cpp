#include "model/gguf_file.h"

#include <optional>
#include <utility>
#include <vector>

#include "model/byte_reader.h"

namespace paceline {
namespace {

using Tensors = std::map<std::string, StoredTensor, std::less<>>;

/// Bytes of a value of fixed size; 0 for strings, arrays and unknown types.
std::uint64_t value_size(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
      return 8;
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return 0;
  }
  return 0;
}

bool is_known(GgufValueType type) {
  return value_size(type) != 0 || type == GgufValueType::kString || type == GgufValueType::kArray;
}

/// Reads the parts of a GGUF file in their order: header, key-value pairs, tensor list, and then
/// checks each tensor's bytes against the file. Source: the GGUF specification, versions 2 and 3.
class GgufParser {
 public:
  GgufParser(std::string file, std::span<const std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes), reader_(bytes) {}

  Result<void> parse_header();
  Result<GgufMetadata::Values> parse_values();
  Result<Tensors> parse_tensors(std::uint64_t alignment);

 private:
  /// A tensor's entry in the list, before its bytes are located.
  struct TensorEntry {
    std::string_view name;
    TensorType type{};
    TensorSource::Shape shape;
    std::uint64_t offset = 0;  ///< from the start of the data section
    std::uint64_t num_bytes = 0;
  };

  [[nodiscard]] tl::unexpected<Error> error(const std::string& message) const {
    return fail(ErrorCode::kBadFile, file_ + ": " + message);
  }
  [[nodiscard]] tl::unexpected<Error> ends_early(const std::string& within) const {
    return error("the file ends after " + std::to_string(bytes_.size()) + " bytes, inside " +
                 within);
  }
  Result<std::string_view> read_name(const std::string& what);
  Result<GgufValue> read_value(const std::string& what);
  Result<GgufValue> read_array(const std::string& what);
  Result<void> skip_strings(std::uint64_t count, const std::string& what);
  Result<TensorEntry> read_tensor_entry(std::uint64_t index);
  Result<TensorSource::Shape> read_shape(const std::string& what);

  std::string file_;
  std::span<const std::byte> bytes_;
  ByteReader reader_;
  std::uint64_t num_tensors_ = 0;
  std::uint64_t num_keys_ = 0;
};

Result<void> GgufParser::parse_header() {
  const auto magic = reader_.take(4);
  if (!magic) return ends_early("the magic number");
  if (as_text(*magic) != "GGUF") {
    return error("not a GGUF file: expected it to begin with 'GGUF', found " +
                 quote_name(as_text(*magic)));
  }
  const auto version = reader_.read<std::uint32_t>();
  if (!version) return ends_early("the header");
  if (*version == 0x02000000U || *version == 0x03000000U) {
    return error("big-endian GGUF is not supported, expected little-endian");
  }
  if (*version != 2 && *version != 3) {
    return error("GGUF version " + std::to_string(*version) + " is not supported, expected 2 or 3");
  }
  const auto num_tensors = reader_.read<std::uint64_t>();
  const auto num_keys = reader_.read<std::uint64_t>();
  if (!num_tensors || !num_keys) return ends_early("the header");
  if (*num_tensors > GgufLimits::kMaxTensors) {
    return error("the header claims " + std::to_string(*num_tensors) +
                 " tensors, expected at most " + std::to_string(GgufLimits::kMaxTensors));
  }
  if (*num_keys > GgufLimits::kMaxKeys) {
    return error("the header claims " + std::to_string(*num_keys) + " keys, expected at most " +
                 std::to_string(GgufLimits::kMaxKeys));
  }
  num_tensors_ = *num_tensors;
  num_keys_ = *num_keys;
  return {};
}

Result<std::string_view> GgufParser::read_name(const std::string& what) {
  const auto length = reader_.read<std::uint64_t>();
  if (!length) return ends_early(what);
  if (*length == 0 || *length > GgufLimits::kMaxNameBytes) {
    return error(what + " has a name of " + std::to_string(*length) + " bytes, expected 1 to " +
                 std::to_string(GgufLimits::kMaxNameBytes));
  }
  const auto name = reader_.take(*length);
  if (!name) return ends_early(what);
  return as_text(*name);
}

Result<void> GgufParser::skip_strings(std::uint64_t count, const std::string& what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = reader_.read<std::uint64_t>();
    if (!length) return ends_early(what);
    if (*length > GgufLimits::kMaxStringBytes) {
      return error(what + ": a string claims " + std::to_string(*length) +
                   " bytes, expected at most " + std::to_string(GgufLimits::kMaxStringBytes));
    }
    if (!reader_.take(*length)) return ends_early(what);
  }
  return {};
}

Result<GgufValue> GgufParser::read_array(const std::string& what) {
  const auto element = reader_.read<std::uint32_t>();
  const auto count = reader_.read<std::uint64_t>();
  if (!element || !count) return ends_early(what);
  GgufValue value;
  value.type = GgufValueType::kArray;
  value.element_type = static_cast<GgufValueType>(*element);
  value.count = *count;
  if (value.element_type == GgufValueType::kArray) {
    return error(what + ": arrays of arrays are not supported");
  }
  if (!is_known(value.element_type)) {
    return error(what + ": unknown element type " + std::to_string(*element));
  }
  if (*count > GgufLimits::kMaxArrayElements) {
    return error(what + ": the array claims " + std::to_string(*count) +
                 " elements, expected at most " + std::to_string(GgufLimits::kMaxArrayElements));
  }
  const std::size_t start = reader_.position();
  if (value.element_type == GgufValueType::kString) {
    if (auto skipped = skip_strings(*count, what); !skipped) {
      return tl::unexpected(std::move(skipped.error()));
    }
  } else if (!reader_.take(*count * value_size(value.element_type))) {
    return ends_early(what);
  }
  value.bytes = bytes_.subspan(start, reader_.position() - start);
  return value;
}

Result<GgufValue> GgufParser::read_value(const std::string& what) {
  const auto number = reader_.read<std::uint32_t>();
  if (!number) return ends_early(what);
  GgufValue value;
  value.type = static_cast<GgufValueType>(*number);
  if (!is_known(value.type)) return error(what + ": unknown value type " + std::to_string(*number));
  if (value.type == GgufValueType::kArray) return read_array(what);
  if (value.type == GgufValueType::kString) {
    const std::size_t start = reader_.position();
    if (auto skipped = skip_strings(1, what); !skipped) {
      return tl::unexpected(std::move(skipped.error()));
    }
    const std::size_t text = start + sizeof(std::uint64_t);
    value.bytes = bytes_.subspan(text, reader_.position() - text);
    return value;
  }
  const auto bytes = reader_.take(value_size(value.type));
  if (!bytes) return ends_early(what);
  value.bytes = *bytes;
  return value;
}

Result<GgufMetadata::Values> GgufParser::parse_values() {
  GgufMetadata::Values values;
  for (std::uint64_t i = 0; i < num_keys_; ++i) {
    auto key = read_name("key " + std::to_string(i + 1) + " of " + std::to_string(num_keys_));
    if (!key) return tl::unexpected(std::move(key.error()));
    auto value = read_value("key " + quote_name(*key));
    if (!value) return tl::unexpected(std::move(value.error()));
    if (!values.emplace(*key, *value).second) {
      return error("key " + quote_name(*key) + " is stored twice");
    }
  }
  return values;
}

Result<TensorSource::Shape> GgufParser::read_shape(const std::string& what) {
  const auto num_dimensions = reader_.read<std::uint32_t>();
  if (!num_dimensions) return ends_early(what);
  if (*num_dimensions < 1 || *num_dimensions > GgufLimits::kMaxDimensions) {
    return error(what + " has " + std::to_string(*num_dimensions) + " dimensions, expected 1 to " +
                 std::to_string(GgufLimits::kMaxDimensions));
  }
  // The file's order is innermost first: columns, then rows; higher dimensions are more rows.
  TensorSource::Shape shape{1, 1};
  std::uint64_t num_values = 1;
  for (std::uint32_t i = 0; i < *num_dimensions; ++i) {
    const auto dimension = reader_.read<std::uint64_t>();
    if (!dimension) return ends_early(what);
    const auto product = checked_multiply(num_values, *dimension);
    if (*dimension == 0 || !product || *product > GgufLimits::kMaxTensorValues) {
      return error(what + ": dimension " + std::to_string(i) + " is " + std::to_string(*dimension) +
                   ", expected at least 1 and a product of at most " +
                   std::to_string(GgufLimits::kMaxTensorValues));
    }
    num_values = *product;
    (i == 0 ? shape.columns : shape.rows) *= static_cast<std::int64_t>(*dimension);
  }
  return shape;
}

Result<GgufParser::TensorEntry> GgufParser::read_tensor_entry(std::uint64_t index) {
  TensorEntry entry;
  auto name =
      read_name("tensor " + std::to_string(index + 1) + " of " + std::to_string(num_tensors_));
  if (!name) return tl::unexpected(std::move(name.error()));
  entry.name = *name;
  const std::string what = "tensor " + quote_name(*name);
  auto shape = read_shape(what);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  entry.shape = *shape;
  const auto number = reader_.read<std::uint32_t>();
  const auto offset = reader_.read<std::uint64_t>();
  if (!number || !offset) return ends_early(what);
  const std::optional<TensorType> type = tensor_type_from_gguf(*number);
  if (!type) {
    return error(what + " has the unsupported type number " + std::to_string(*number) +
                 "; supported: " + supported_tensor_types());
  }
  entry.type = *type;
  entry.offset = *offset;
  const TensorTypeInfo& info = tensor_type_info(*type);
  if (shape->columns % info.block_values != 0) {
    return error(what + " has rows of " + std::to_string(shape->columns) +
                 " values, expected a multiple of " + std::to_string(info.block_values) + " for " +
                 std::string(info.name));
  }
  // No overflow: at most 2^40 values of at most 4 bytes.
  entry.num_bytes = static_cast<std::uint64_t>(shape->columns / info.block_values * shape->rows) *
                    static_cast<std::uint64_t>(info.block_bytes);
  return entry;
}

Result<Tensors> GgufParser::parse_tensors(std::uint64_t alignment) {
  std::vector<TensorEntry> entries;
  for (std::uint64_t i = 0; i < num_tensors_; ++i) {
    auto entry = read_tensor_entry(i);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    entries.push_back(*entry);
  }
  const std::uint64_t data_start = (reader_.position() + alignment - 1) / alignment * alignment;
  const std::uint64_t data_size = data_start < bytes_.size() ? bytes_.size() - data_start : 0;
  Tensors tensors;
  for (const TensorEntry& entry : entries) {
    const std::string what = "tensor " + quote_name(entry.name);
    if (entry.offset % alignment != 0) {
      return error(what + " starts at offset " + std::to_string(entry.offset) +
                   ", expected a multiple of " + std::to_string(alignment));
    }
    if (entry.offset > data_size || entry.num_bytes > data_size - entry.offset) {
      return error(what + " needs " + std::to_string(entry.num_bytes) + " bytes at offset " +
                   std::to_string(entry.offset) + ", but the data section has " +
                   std::to_string(data_size) + ": the file is cut short or damaged");
    }
    const auto bytes = bytes_.subspan(static_cast<std::size_t>(data_start + entry.offset),
                                      static_cast<std::size_t>(entry.num_bytes));
    if (!tensors.emplace(entry.name, StoredTensor{entry.type, entry.shape, bytes}).second) {
      return error(what + " is stored twice");
    }
  }
  return tensors;
}

Result<std::uint64_t> read_alignment(const GgufMetadata& metadata) {
  auto alignment = metadata.find_integer("general.alignment");
  if (!alignment) return tl::unexpected(std::move(alignment.error()));
  const std::int64_t value = alignment->value_or(32);
  const bool is_valid = value >= 8 &&
                        value <= static_cast<std::int64_t>(GgufLimits::kMaxAlignment) &&
                        (value & (value - 1)) == 0;
  if (!is_valid) {
    return fail(ErrorCode::kBadFile,
                metadata.file() + ": key 'general.alignment': expected a power of two from 8 to " +
                    std::to_string(GgufLimits::kMaxAlignment) + ", found " + std::to_string(value));
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return tl::unexpected(std::move(mapping.error()));
  GgufParser parser(path.string(), mapping->bytes());
  if (auto header = parser.parse_header(); !header) {
    return tl::unexpected(std::move(header.error()));
  }
  auto values = parser.parse_values();
  if (!values) return tl::unexpected(std::move(values.error()));
  GgufMetadata metadata(path.string(), std::move(*values));
  auto alignment = read_alignment(metadata);
  if (!alignment) return tl::unexpected(std::move(alignment.error()));
  auto tensors = parser.parse_tensors(*alignment);
  if (!tensors) return tl::unexpected(std::move(tensors.error()));
  return GgufFile{std::move(*mapping), std::move(metadata), std::move(*tensors)};
}

}  // namespace paceline
