#include "model_check.hpp"

#include <algorithm>

#include "../acl_types.h"
#include "codes.hpp"
#include "dtypes.hpp"

namespace aclsim {
namespace {

// More than any picture has in one direction; sums and products of a few of them stay within 64 bits.
constexpr std::int64_t most_pixels = 1 << 20;

std::string described(const char* what, const TensorInfo& tensor) {
  return std::string(what) + " \"" + tensor.name + "\"";
}

std::uint64_t bytes_of(const TensorInfo& tensor, const Dims& dims) {
  return elements(dims) * element_size(tensor.type);
}

// Its bytes are at least those of its shape; `text` says what is missing.
bool large_enough(const char* what, const TensorInfo& tensor, const Dims& dims, std::string& text) {
  const std::uint64_t needed = bytes_of(tensor, dims);
  if (needed <= tensor.size) return true;
  text = described(what, tensor) + " has " + std::to_string(tensor.size) + " bytes, its shape needs " +
         std::to_string(needed);
  return false;
}

bool check_hidden(const ModelInfo& info, std::string& text) {
  const auto hidden = std::count_if(info.inputs.begin(), info.inputs.end(),
                                    [](const TensorInfo& t) { return t.name == ACL_DYNAMIC_TENSOR_NAME; });
  if (hidden > 1) {
    text = "it has " + std::to_string(hidden) + " inputs " ACL_DYNAMIC_TENSOR_NAME ", a model with gears has one";
    return false;
  }
  if (info.gears.empty()) {
    // Files of ATC may say less than they have; what writes the simulator's does not.
    if (hidden == 0 || !info.simulator_model) return true;
    text = "it has the input " ACL_DYNAMIC_TENSOR_NAME " and no gears";
    return false;
  }
  if (hidden == 0) {
    text = "it has " + std::to_string(info.gears.size()) + " gears and " + std::to_string(info.inputs.size()) +
           " inputs, none of them " ACL_DYNAMIC_TENSOR_NAME ", which says the gear of a run";
    return false;
  }
  const TensorInfo& tensor = info.inputs[static_cast<std::size_t>(info.hidden_input)];
  if (tensor.type != ACL_INT32 && tensor.type != ACL_INT64) {
    text = described("input", tensor) + " has element type " + std::to_string(tensor.type) +
           " (aclDataType), a gear's values are int32 or int64";
    return false;
  }
  const std::size_t count = info.gears.front().values.size();
  if (tensor.size >= count * element_size(tensor.type)) return true;
  text = described("input", tensor) + " has " + std::to_string(tensor.size) + " bytes, a gear has " +
         std::to_string(count) + " values";
  return false;
}

// Known sizes in every dimension; false for -1 and the like.
bool complete(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim >= 0; });
}

// What a gear says of one input. The network reads as many elements as `onnx_inputs` says of a buffer that has as many
// as `inputs` says; with AIPP in between they differ, and AIPP looks for itself.
bool check_gear_input(const ModelInfo& info, const GearInfo& gear, std::size_t v, std::string& text) {
  const TensorInfo& tensor = info.inputs[info.visible(v)];
  const Dims &fed = gear.inputs[v], &seen = gear.onnx_inputs[v];
  bool fits = complete(fed) && complete(seen) && fed.size() == tensor.dims_v2.size();
  for (std::size_t k = 0; fits && k < fed.size(); ++k) fits = tensor.dims_v2[k] < 0 || tensor.dims_v2[k] == fed[k];
  if (fits && info.aipp_of(info.visible(v)) == nullptr) fits = elements(fed) == elements(seen);
  if (!fits) {
    text = described("input", tensor) + " has a shape in one of the gears that is not the model's";
    return false;
  }
  return !info.simulator_model || large_enough("input", tensor, fed, text);
}

bool check_gear(const ModelInfo& info, const GearInfo& gear, std::string& text) {
  const std::size_t count = info.shapes == Shapes::batch ? 1 : info.shapes == Shapes::hw ? 2 : gear.values.size();
  if (gear.values.empty() || gear.values.size() != count || count != info.gears.front().values.size()) {
    text = "one of its gears has " + std::to_string(gear.values.size()) + " values, another number than the rest";
    return false;
  }
  if (gear.inputs.size() != info.visible_inputs() || gear.onnx_inputs.size() != info.visible_inputs() ||
      (!gear.outputs.empty() && gear.outputs.size() != info.outputs.size())) {
    text = "one of its gears is for " + std::to_string(gear.inputs.size()) + " inputs and " +
           std::to_string(gear.outputs.size()) + " outputs, the model has " + std::to_string(info.visible_inputs()) +
           " and " + std::to_string(info.outputs.size());
    return false;
  }
  for (std::size_t v = 0; v < gear.inputs.size(); ++v)
    if (!check_gear_input(info, gear, v, text)) return false;
  for (std::size_t i = 0; i < gear.outputs.size(); ++i) {
    if (!complete(gear.outputs[i])) {
      text = described("output", info.outputs[i]) + " has a negative size in one of the gears";
      return false;
    }
    if (info.simulator_model && !large_enough("output", info.outputs[i], gear.outputs[i], text)) return false;
  }
  return true;
}

bool check_aipp(const ModelInfo& info, const AippInfo& aipp, std::string& text) {
  if (aipp.input >= info.inputs.size()) {
    text = "AIPP is given for an input that the model does not have";
    return false;
  }
  for (const std::int64_t size : {aipp.src_w, aipp.src_h, aipp.crop_x, aipp.crop_y, aipp.crop_w, aipp.crop_h,
                                  aipp.pad_left, aipp.pad_right, aipp.pad_top, aipp.pad_bottom})
    if (size < 0 || size > most_pixels) {
      text = "AIPP of " + described("input", info.inputs[aipp.input]) + " has the size " + std::to_string(size) +
             ", which no picture has";
      return false;
    }
  return true;
}

bool check_types(const char* what, const std::vector<TensorInfo>& tensors, std::string& text) {
  for (const TensorInfo& tensor : tensors)
    for (const int type : {tensor.type, tensor.onnx_type})
      if (element_size(type) == 0) {
        text = described(what, tensor) + " has element type " + std::to_string(type) + ", which no aclDataType is";
        return false;
      }
  return true;
}

// An earlier release's compiler wrote files of types that the library cannot hand to onnxruntime; their runs would fail.
bool check_computed(const char* what, const std::vector<TensorInfo>& tensors, std::string& text) {
  for (const TensorInfo& tensor : tensors)
    for (const int type : {tensor.type, tensor.onnx_type})
      if (const char* name = uncomputed_type(type); name != nullptr) {
        text = described(what, tensor) + " is " + name + ", which the simulator does not compute";
        return false;
      }
  return true;
}

bool consistent(const ModelInfo& info, std::string& text) {
  for (const AippInfo& aipp : info.aipp)
    if (!check_aipp(info, aipp, text)) return false;
  if (info.simulator_model && (!check_types("input", info.inputs, text) || !check_types("output", info.outputs, text)))
    return false;
  if (!check_hidden(info, text)) return false;
  for (const GearInfo& gear : info.gears)
    if (!check_gear(info, gear, text)) return false;
  if (!info.gears.empty() || info.shapes == Shapes::dynamic) return true;
  for (std::size_t i = 0; i < info.inputs.size(); ++i)
    if (info.aipp_of(i) == nullptr && !large_enough("input", info.inputs[i], info.inputs[i].dims_v2, text))
      return false;
  return std::all_of(info.outputs.begin(), info.outputs.end(),
                     [&](const TensorInfo& t) { return large_enough("output", t, t.dims, text); });
}

}  // namespace

int check_model(const ModelInfo& info, std::string& text) {
  if (info.aipp_input >= 0) {
    text = "the model has dynamic AIPP, which the simulator does not compute";
    return ge_model_partition;
  }
  if (info.simulator_model &&
      (!check_computed("input", info.inputs, text) || !check_computed("output", info.outputs, text)))
    return ge_model_partition;
  std::string reason;
  if (consistent(info, reason)) return 0;
  text = "the file contradicts itself: " + reason;
  return ge_model_partition;
}

}  // namespace aclsim
