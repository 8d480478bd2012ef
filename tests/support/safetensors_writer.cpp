#include "tests/support/safetensors_writer.h"

#include <boost/json.hpp>

#include "tests/support/gguf_writer.h"

namespace paceline {

std::string SafetensorsWriter::with_header(std::string_view header, std::string_view data) {
  return GgufWriter::raw_string(header).append(data);
}

std::string SafetensorsWriter::bytes() const {
  boost::json::object header;
  std::string data;
  for (const Tensor& tensor : tensors_) {
    boost::json::object entry;
    entry["dtype"] = tensor.dtype;
    entry["shape"] = boost::json::array(tensor.shape.begin(), tensor.shape.end());
    entry["data_offsets"] = boost::json::array{data.size(), data.size() + tensor.bytes.size()};
    header[tensor.name] = std::move(entry);
    data += tensor.bytes;
  }
  return with_header(boost::json::serialize(header), data);
}

void SafetensorsWriter::write(const std::filesystem::path& path) const {
  write_file(path, bytes());
}

}  // namespace paceline
