// Reads what tools/export_native_goldens.py writes: index.txt, with lines "shape KEY VALUE" and
// "array NAME TYPE ROWS COLS OFFSET", and data.bin.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kazeia/code_predictor.h"

namespace kazeia_test {

/// One set of weights and figures.
class GoldenSet {
 public:
  explicit GoldenSet(const std::filesystem::path& folder) : name_(folder.filename().string()) {
    std::ifstream file(folder / "data.bin", std::ios::binary);
    const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    bytes_.resize(data.size());
    std::memcpy(bytes_.data(), data.data(), data.size());
    std::ifstream index(folder / "index.txt");
    for (std::string line; std::getline(index, line);) read(line);
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] kazeia::CodePredictorShape shape() const {
    const auto size = [&](const char* key) { return static_cast<std::size_t>(number(key)); };
    kazeia::CodePredictorShape shape;
    shape.decoder.hidden = size("hidden");
    shape.decoder.n_layers = size("layers");
    shape.decoder.n_heads = size("heads");
    shape.decoder.n_kv_heads = size("kv_heads");
    shape.decoder.head_dim = size("head_dim");
    shape.decoder.ffn = size("ffn");
    shape.decoder.rope_theta = static_cast<float>(number("rope_theta"));
    shape.decoder.rms_norm_eps = static_cast<float>(number("rms_norm_eps"));
    shape.talker_hidden = size("talker_hidden");
    shape.talker_vocab = size("talker_vocab");
    shape.n_codebooks = size("codebooks");
    shape.vocab = size("vocab");
    return shape;
  }

  /// The weights; their memory is this object's.
  [[nodiscard]] const kazeia::TensorMap& tensors() const { return tensors_; }

  /// An array of figures, row after row.
  template <class T>
  [[nodiscard]] std::vector<T> figures(const std::string& name) const {
    const Figures& found = figures_.at(name);
    std::vector<T> values(found.n_values);
    std::memcpy(values.data(), bytes_.data() + found.offset, values.size() * sizeof(T));
    return values;
  }

 private:
  struct Figures {
    std::size_t offset;
    std::size_t n_values;
  };

  [[nodiscard]] double number(const char* key) const { return numbers_.at(key); }

  void read(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind >> name;
    if (kind == "shape") {
      words >> numbers_[name];
      return;
    }
    std::string type;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t offset = 0;
    words >> type >> rows >> cols >> offset;
    const bool weights = name.rfind("w.", 0) == 0;
    const std::size_t n_bytes = weights ? rows * kazeia::row_bytes(kazeia::weight_type(type), cols) : rows * cols * 4;
    if (!words || n_bytes > bytes_.size() || offset > bytes_.size() - n_bytes) throw std::runtime_error(line);
    if (weights) {
      tensors_[name.substr(2)] = {bytes_.data() + offset, n_bytes, kazeia::weight_type(type), rows, cols};
    } else {
      figures_[name] = {offset, rows * cols};
    }
  }

  std::string name_;
  std::vector<std::byte> bytes_;
  std::map<std::string, double> numbers_;
  std::map<std::string, Figures> figures_;
  kazeia::TensorMap tensors_;
};

}  // namespace kazeia_test
