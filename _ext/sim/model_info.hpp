// What a model file says: inputs, outputs, gears, AIPP, sizes. Shared by everything loaded from equal bytes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aclsim {

using Dims = std::vector<std::int64_t>;

struct TensorInfo {
  std::string name;
  int type = -1, format = -1;  // aclDataType, aclFormat
  std::uint64_t size = 0;      // bytes of the largest gear; 0 for true dynamic shapes
  Dims dims, dims_v2;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::string onnx_name;  // empty: found by position
  int onnx_type = -1;     // aclDataType of the ONNX model's tensor
  bool dynamic() const;
};

struct GearInfo {
  Dims values;
  std::vector<Dims> inputs;       // what is fed, one per visible input
  std::vector<Dims> onnx_inputs;  // what the network gets
  std::vector<Dims> outputs;      // empty: unknown until it ran
};

struct AippInfo {
  std::size_t input = 0;
  int format = 0;                     // aclAippInputFormat
  std::int64_t src_w = 0, src_h = 0;  // 0: the gear decides
  bool crop = false, padding = false, csc = false, swap_rb = false, swap_ax = false, nhwc = false;
  std::int64_t crop_x = 0, crop_y = 0, crop_w = 0, crop_h = 0;
  std::int64_t pad_left = 0, pad_right = 0, pad_top = 0, pad_bottom = 0;
  float pad_value = 0;
  int matrix[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  int input_bias[3] = {0, 0, 0}, output_bias[3] = {0, 0, 0};
  float mean[4] = {0, 0, 0, 0}, min[4] = {0, 0, 0, 0}, var_reci[4] = {1, 1, 1, 1};
};

enum class Shapes { fixed, batch, hw, dims, dynamic };

struct ModelInfo {
  std::string name, soc;
  Shapes shapes = Shapes::fixed;
  std::uint64_t work_size = 0, weight_size = 0;
  int hidden_input = -1;  // ascend_mbatch_shape_data
  int aipp_input = -1;    // ascend_dynamic_aipp_data
  std::vector<TensorInfo> inputs, outputs;
  std::vector<GearInfo> gears;
  std::vector<AippInfo> aipp;
  bool fp16 = false;
  bool simulator_model = false;  // made for the simulator; else a real .om that needs a twin
  std::string_view onnx;         // into the file's bytes, while they are there

  std::size_t visible_inputs() const { return inputs.size() - (hidden_input >= 0 ? 1 : 0); }
  // Index among the inputs of the i-th visible one.
  std::size_t visible(std::size_t i) const {
    return hidden_input >= 0 && i >= static_cast<std::size_t>(hidden_input) ? i + 1 : i;
  }
  const GearInfo* gear(const Dims& values) const;
  const AippInfo* aipp_of(std::size_t input) const;
};

// 0 when one is negative; 2^56 when there are as many or more.
std::uint64_t elements(const Dims& dims);

// Reads a .om of either kind. 0, or a code with the reason in `text`; `side` is the text of FILE.sim.json, if any.
int read_model(std::string_view bytes, std::string_view side, ModelInfo& out, std::string& text);
// The models inside a bundle; a file that is none gives a code.
int read_bundle(std::string_view bytes, std::vector<std::string_view>& out, std::string& text);

}  // namespace aclsim
