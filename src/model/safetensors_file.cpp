#include "model/safetensors_file.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "model/byte_reader.h"

namespace paceline {
namespace {

constexpr std::int64_t kMaxTensorValues = std::int64_t{1} << 40;

tl::unexpected<Error> bad_file(const std::string& file, const std::string& message) {
  return fail(ErrorCode::kBadFile, file + ": " + message);
}

std::optional<TensorType> type_from_dtype(std::string_view dtype) {
  if (dtype == "F32") return TensorType::kF32;
  if (dtype == "F16") return TensorType::kF16;
  if (dtype == "BF16") return TensorType::kBF16;
  return std::nullopt;
}

/// Reads one entry of the header: `{"dtype": …, "shape": […], "data_offsets": [begin, end]}`.
class EntryReader {
 public:
  EntryReader(const std::string& file, std::string_view name, std::span<const std::byte> data)
      : file_(file), what_("tensor " + quote_name(name)), data_(data) {}

  Result<StoredTensor> read(simdjson::dom::element entry) const {
    std::string_view dtype;
    if (entry["dtype"].get(dtype) != simdjson::SUCCESS) return error("has no string 'dtype'");
    const std::optional<TensorType> type = type_from_dtype(dtype);
    if (!type) {
      return error("has the unsupported dtype " + quote_name(dtype) +
                   "; supported: F32, F16, BF16");
    }
    StoredTensor tensor;
    tensor.type = *type;
    auto shape = read_shape(entry);
    if (!shape) return tl::unexpected(std::move(shape.error()));
    tensor.shape = *shape;
    auto bytes = read_bytes(entry);
    if (!bytes) return tl::unexpected(std::move(bytes.error()));
    tensor.bytes = *bytes;
    const auto needed = static_cast<std::uint64_t>(shape->rows * shape->columns) *
                        static_cast<std::uint64_t>(tensor_type_info(*type).block_bytes);
    if (needed != bytes->size()) {
      return error("has " + std::to_string(bytes->size()) + " bytes, expected " +
                   std::to_string(needed) + " for " + std::string(dtype) + " " +
                   to_string(tensor.shape));
    }
    return tensor;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> error(const std::string& message) const {
    return bad_file(file_, what_ + " " + message);
  }

  [[nodiscard]] Result<TensorSource::Shape> read_shape(simdjson::dom::element entry) const {
    simdjson::dom::array dimensions;
    if (entry["shape"].get(dimensions) != simdjson::SUCCESS) return error("has no array 'shape'");
    if (dimensions.size() > 4) {
      return error("has " + std::to_string(dimensions.size()) + " dimensions, expected at most 4");
    }
    // Outermost first: the last dimension is the columns, all before it are rows.
    TensorSource::Shape shape{1, 1};
    for (const simdjson::dom::element dimension : dimensions) {
      std::int64_t size = 0;
      if (dimension.get(size) != simdjson::SUCCESS || size < 1 ||
          size > kMaxTensorValues / (shape.rows * shape.columns)) {
        return error("has a dimension that is not an integer, below 1 or too large");
      }
      shape.rows *= shape.columns;
      shape.columns = size;
    }
    return shape;
  }

  [[nodiscard]] Result<std::span<const std::byte>> read_bytes(simdjson::dom::element entry) const {
    simdjson::dom::array offsets;
    std::array<std::uint64_t, 2> range{};
    bool is_pair = entry["data_offsets"].get(offsets) == simdjson::SUCCESS && offsets.size() == 2;
    for (std::size_t i = 0; is_pair && i < range.size(); ++i) {
      is_pair = offsets.at(i).get(range[i]) == simdjson::SUCCESS;
    }
    if (!is_pair) return error("has no 'data_offsets' of two integers");
    if (range[0] > range[1] || range[1] > data_.size()) {
      return error("lies at bytes " + std::to_string(range[0]) + " to " + std::to_string(range[1]) +
                   ", but the data has " + std::to_string(data_.size()) +
                   ": the file is cut short or damaged");
    }
    return data_.subspan(static_cast<std::size_t>(range[0]),
                         static_cast<std::size_t>(range[1] - range[0]));
  }

  const std::string& file_;
  std::string what_;
  std::span<const std::byte> data_;
};

/// Returns the JSON text at the front of the file.
Result<std::string_view> read_header(ByteReader& reader, const std::string& file) {
  const auto length = reader.read<std::uint64_t>();
  if (!length) return bad_file(file, "the file ends inside the length of its header");
  if (*length < 2 || *length > SafetensorsFile::kMaxHeaderBytes || *length > reader.remaining()) {
    return bad_file(file, "the header claims " + std::to_string(*length) +
                              " bytes, expected 2 to " +
                              std::to_string(std::min<std::uint64_t>(
                                  SafetensorsFile::kMaxHeaderBytes, reader.remaining())));
  }
  return as_text(*reader.take(*length));
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  const std::string file = path.string();
  auto mapping = MappedFile::open(path);
  if (!mapping) return tl::unexpected(std::move(mapping.error()));
  ByteReader reader(mapping->bytes());
  const auto header = read_header(reader, file);
  if (!header) return tl::unexpected(header.error());
  const std::span<const std::byte> data = mapping->bytes().subspan(reader.position());

  simdjson::dom::parser parser;
  simdjson::dom::object entries;
  const auto parsed = parser.parse(header->data(), header->size()).get(entries);
  if (parsed != simdjson::SUCCESS) {
    return bad_file(
        file, std::string("the header is not a JSON object: ") + simdjson::error_message(parsed));
  }
  std::map<std::string, StoredTensor, std::less<>> tensors;
  for (const auto [name, entry] : entries) {
    if (name == "__metadata__") continue;
    auto tensor = EntryReader(file, name, data).read(entry);
    if (!tensor) return tl::unexpected(std::move(tensor.error()));
    if (!tensors.emplace(name, *tensor).second) {
      return bad_file(file, "tensor " + quote_name(name) + " is stored twice");
    }
  }
  return SafetensorsFile{std::move(*mapping), std::move(tensors)};
}

Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view text,
                                                                   const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::object weight_map;
  const auto parsed = parser.parse(text.data(), text.size())["weight_map"].get(weight_map);
  if (parsed != simdjson::SUCCESS) {
    return bad_file(file, std::string("expected a JSON object with an object 'weight_map': ") +
                              simdjson::error_message(parsed));
  }
  std::map<std::string, std::string> files;
  for (const auto [name, value] : weight_map) {
    std::string_view part;
    if (value.get(part) != simdjson::SUCCESS || part.empty() || part.starts_with('.') ||
        part.find('/') != std::string_view::npos) {
      return bad_file(file,
                      "tensor " + quote_name(name) + " expected the name of a file in the folder");
    }
    if (!files.emplace(name, part).second) {
      return bad_file(file, "tensor " + quote_name(name) + " is listed twice");
    }
  }
  if (files.empty()) return bad_file(file, "'weight_map' is empty");
  return files;
}

}  // namespace paceline
