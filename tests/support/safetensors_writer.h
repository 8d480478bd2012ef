#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// Builds safetensors files.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::string dtype;                 ///< `F32`, `F16`, …
    std::vector<std::uint64_t> shape;  ///< outermost first
    std::string bytes;
  };

  void add(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::string bytes() const;
  void write(const std::filesystem::path& path) const;

  /// A file of this header text, with its right length, and these data.
  [[nodiscard]] static std::string with_header(std::string_view header, std::string_view data);

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace paceline
