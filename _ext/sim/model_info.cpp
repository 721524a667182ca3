#include "model_info.hpp"

#include <algorithm>
#include <cstdlib>

#include "../acl_types.h"
#include "codes.hpp"
#include "json.hpp"
#include "model_check.hpp"
#include "om_file.hpp"
#include "task_memory.hpp"

namespace aclsim {
namespace {

// No memory has as many, and their bytes still are a number of 64 bits.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 56;

// A walk over bytes that never passes their end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return at_ >= bytes_.size() || !good_; }
  template <typename T>
  T number() {
    if (bytes_.size() - at_ < sizeof(T)) {
      good_ = false;
      at_ = bytes_.size();
      return T{};
    }
    const T value = number_at<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      good_ = false;
      at_ = bytes_.size();
      return {};
    }
    const std::string_view out = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return out;
  }
  std::uint64_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

Dims read_dims(Reader& from, std::uint32_t bytes) {
  Dims out;
  Reader part(from.take(bytes));
  while (part.left() >= 8) out.push_back(part.number<std::int64_t>());
  return out;
}

bool read_tensors(std::string_view value, std::vector<TensorInfo>& out) {
  Reader from(value);
  const auto count = from.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && from.good(); ++i) {
    TensorInfo tensor;
    tensor.size = from.number<std::uint64_t>();
    tensor.format = from.number<std::int32_t>() & 0xFF;
    tensor.type = from.number<std::int32_t>();
    const auto name = from.number<std::uint32_t>(), dims = from.number<std::uint32_t>();
    const auto dims_v2 = from.number<std::uint32_t>(), range = from.number<std::uint32_t>();
    tensor.name = std::string(from.take(name));
    tensor.dims = read_dims(from, dims);
    tensor.dims_v2 = read_dims(from, dims_v2);
    const Dims pairs = read_dims(from, range);
    for (std::size_t k = 0; k + 1 < pairs.size(); k += 2) tensor.ranges.emplace_back(pairs[k], pairs[k + 1]);
    if (tensor.type == 28) tensor.type = -1;
    if (tensor.format == 40) tensor.format = -1;
    tensor.onnx_type = tensor.type;
    const auto colon = tensor.name.rfind(':');
    tensor.onnx_name = colon == std::string::npos ? tensor.name : tensor.name.substr(colon + 1);
    if (from.good()) out.push_back(std::move(tensor));
  }
  return from.good() && out.size() == count && count <= 4096;
}

std::vector<Dims> read_lists(std::string_view value) {
  Reader from(value);
  const auto count = from.number<std::uint32_t>();
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < count && from.good(); ++i) lengths.push_back(from.number<std::uint32_t>());
  std::vector<Dims> out;
  for (const std::uint32_t length : lengths) {
    Dims values;
    for (std::uint32_t k = 0; k < length && from.good(); ++k) values.push_back(from.number<std::int64_t>());
    if (from.good()) out.push_back(std::move(values));
  }
  return out;
}

std::vector<std::string> read_strings(std::string_view value) {
  Reader from(value);
  const auto count = from.number<std::uint32_t>();
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < count && from.good(); ++i) lengths.push_back(from.number<std::uint32_t>());
  std::vector<std::string> out;
  for (const std::uint32_t length : lengths) out.emplace_back(from.take(length));
  return out;
}

// Inputs of one gear: its values stand for the -1s.
void fill_gear(const ModelInfo& info, const std::vector<std::string>& order, GearInfo& gear) {
  gear.inputs.resize(info.visible_inputs());
  for (std::size_t i = 0; i < gear.inputs.size(); ++i) gear.inputs[i] = info.inputs[info.visible(i)].dims_v2;
  std::vector<std::size_t> sequence;
  for (const std::string& name : order)
    for (std::size_t i = 0; i < gear.inputs.size(); ++i)
      if (info.inputs[info.visible(i)].name == name) sequence.push_back(i);
  if (sequence.size() != gear.inputs.size()) {
    sequence.clear();
    for (std::size_t i = 0; i < gear.inputs.size(); ++i) sequence.push_back(i);
  }
  std::size_t next = 0;
  for (const std::size_t i : sequence) {
    std::size_t own = 0;
    for (std::int64_t& dim : gear.inputs[i]) {
      if (dim != -1) continue;
      const std::size_t which = info.shapes == Shapes::batch ? 0 : info.shapes == Shapes::hw ? own++ : next++;
      if (which < gear.values.size()) dim = gear.values[which];
    }
  }
  gear.onnx_inputs = gear.inputs;
}

// Empty when the text is no row of hexadecimal bytes.
std::string from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  if (text.size() % 2 != 0) return {};
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const int high = digit(text[at]), low = digit(text[at + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

bool read_inout(std::string_view bytes, ModelInfo& info) {
  Reader from(bytes);
  std::vector<Dims> gears;
  std::vector<std::string> outputs, order;
  while (!from.at_end()) {
    const auto type = from.number<std::uint32_t>(), length = from.number<std::uint32_t>();
    const std::string_view value = from.take(length);
    if (!from.good()) return false;
    if (type == 0 && !read_tensors(value, info.inputs)) return false;
    if (type == 1 && !read_tensors(value, info.outputs)) return false;
    if (type == 2) {
      Reader list(value);
      const auto count = list.number<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && list.good(); ++i) gears.push_back({list.number<std::int64_t>()});
      if (!list.good()) return false;
      info.shapes = Shapes::batch;
    }
    if (type == 3 || type == 4) {
      gears = read_lists(value);
      info.shapes = type == 3 ? Shapes::hw : Shapes::dims;
    }
    if (type == 5) outputs = read_strings(value);
    if (type == 6) order = read_strings(value);
  }
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    if (info.inputs[i].name == ACL_DYNAMIC_TENSOR_NAME) info.hidden_input = static_cast<int>(i);
    if (info.inputs[i].name == ACL_DYNAMIC_AIPP_NAME) info.aipp_input = static_cast<int>(i);
  }
  for (Dims& values : gears) {
    GearInfo gear;
    gear.values = std::move(values);
    fill_gear(info, order, gear);
    info.gears.push_back(std::move(gear));
  }
  for (const std::string& line : outputs) {
    Dims numbers;
    const char* at = line.c_str();
    for (char* end = nullptr; *at != '\0'; at = *end == ',' ? end + 1 : end) {
      numbers.push_back(std::strtoll(at, &end, 10));
      if (end == at) return false;
    }
    if (numbers.size() < 2 || numbers[1] < 0 || numbers[1] >= static_cast<std::int64_t>(info.outputs.size()))
      return false;
    for (std::size_t g = 0; g < info.gears.size(); ++g) {
      if (numbers[0] != -1 && numbers[0] != static_cast<std::int64_t>(g)) continue;
      info.gears[g].outputs.resize(info.outputs.size());
      info.gears[g].outputs[static_cast<std::size_t>(numbers[1])] = Dims(numbers.begin() + 2, numbers.end());
    }
  }
  return true;
}

void read_aipp(const Json& list, ModelInfo& info) {
  for (const Json& entry : list.list()) {
    AippInfo aipp;
    const auto three = [](const Json& from, int* to) {
      for (std::size_t i = 0; i < std::min<std::size_t>(3, from.list().size()); ++i)
        to[i] = static_cast<int>(from.list()[i].integer());
    };
    aipp.input = static_cast<std::size_t>(entry["input"].integer());
    aipp.format = static_cast<int>(entry["input_format"].integer());
    if (entry["src_image_size"].list().size() == 2) {
      aipp.src_w = entry["src_image_size"].list()[0].integer();
      aipp.src_h = entry["src_image_size"].list()[1].integer();
    }
    const Dims crop = entry["crop"].integers(), padding = entry["padding"].integers();
    if (crop.size() == 4) {
      aipp.crop = true;
      aipp.crop_x = crop[0], aipp.crop_y = crop[1], aipp.crop_w = crop[2], aipp.crop_h = crop[3];
    }
    if (padding.size() == 4) {
      aipp.padding = true;
      aipp.pad_left = padding[0], aipp.pad_right = padding[1], aipp.pad_top = padding[2], aipp.pad_bottom = padding[3];
    }
    aipp.pad_value = static_cast<float>(entry["padding_value"].number());
    aipp.csc = entry["csc_switch"].boolean();
    aipp.swap_rb = entry["rbuv_swap_switch"].boolean();
    aipp.swap_ax = entry["ax_swap_switch"].boolean();
    aipp.nhwc = entry["layout"].text() == "NHWC";
    for (std::size_t r = 0; r < std::min<std::size_t>(3, entry["matrix"].list().size()); ++r)
      three(entry["matrix"].list()[r], aipp.matrix[r]);
    three(entry["input_bias"], aipp.input_bias);
    three(entry["output_bias"], aipp.output_bias);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i < entry["mean"].list().size()) aipp.mean[i] = static_cast<float>(entry["mean"].list()[i].number());
      if (i < entry["min"].list().size()) aipp.min[i] = static_cast<float>(entry["min"].list()[i].number());
      if (i < entry["var_reci"].list().size())
        aipp.var_reci[i] = static_cast<float>(entry["var_reci"].list()[i].number());
    }
    info.aipp.push_back(aipp);
  }
}

bool read_parameters(std::string_view bytes, ModelInfo& info, std::string& text) {
  const auto json = Json::parse(bytes, text);
  if (json == nullptr) return false;
  const Json& all = *json;
  if (!all["name"].text().empty()) info.name = all["name"].text();
  info.soc = all["soc"].text();
  info.work_size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, all["work_size"].integer()));
  info.weight_size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, all["weight_size"].integer()));
  info.fp16 = all["options"]["fp16"].boolean();
  const auto& inputs = all["inputs"].list();
  for (std::size_t i = 0; i < inputs.size() && i < info.visible_inputs(); ++i) {
    TensorInfo& tensor = info.inputs[info.visible(i)];
    tensor.onnx_name = inputs[i]["onnx_name"].text();
    tensor.onnx_type = static_cast<int>(inputs[i]["onnx_dtype"].integer(tensor.type));
  }
  const auto& outputs = all["outputs"].list();
  for (std::size_t i = 0; i < outputs.size() && i < info.outputs.size(); ++i) {
    info.outputs[i].onnx_name = outputs[i]["onnx_name"].text();
    info.outputs[i].onnx_type = static_cast<int>(outputs[i]["onnx_dtype"].integer(info.outputs[i].type));
  }
  const auto& gears = all["gears"].list();
  for (std::size_t g = 0; g < gears.size() && g < info.gears.size(); ++g) {
    GearInfo& gear = info.gears[g];
    const auto lists = [](const Json& from, std::vector<Dims>& to) {
      for (std::size_t i = 0; i < from.list().size(); ++i) {
        if (to.size() <= i) to.emplace_back();
        to[i] = from.list()[i].integers();
      }
    };
    lists(gears[g]["inputs"], gear.inputs);
    lists(gears[g]["onnx_inputs"], gear.onnx_inputs);
    lists(gears[g]["outputs"], gear.outputs);
  }
  read_aipp(all["aipp"], info);
  return true;
}

}  // namespace

bool TensorInfo::dynamic() const {
  return std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; });
}

std::uint64_t elements(const Dims& dims) {
  std::uint64_t count = 1;
  bool none = false, too_many = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return 0;
    none = none || dim == 0;
    if (dim != 0 && count > most_elements / static_cast<std::uint64_t>(dim)) too_many = true;
    if (!too_many && dim != 0) count *= static_cast<std::uint64_t>(dim);
  }
  return none ? 0 : too_many ? most_elements : count;
}

const GearInfo* ModelInfo::gear(const Dims& values) const {
  for (const GearInfo& candidate : gears)
    if (candidate.values == values) return &candidate;
  return nullptr;
}

const AippInfo* ModelInfo::aipp_of(std::size_t input) const {
  for (const AippInfo& candidate : aipp)
    if (candidate.input == input) return &candidate;
  return nullptr;
}

int read_model(std::string_view bytes, std::string_view side, ModelInfo& out, std::string& text) {
  OmFile file;
  if (const int code = read_om(bytes, file, text); code != 0) return code;
  if (file.model_type == 5) {
    text = "a bundle, which does not support loading through non-bundle interfaces: use aclmdlBundleLoadFromFile";
    return ge_param_invalid;
  }
  if (file.model_type != 0) {
    text = "model type " + std::to_string(file.model_type) + " is no model that ATC makes for a card";
    return ge_model_partition;
  }
  out.name = file.name;
  out.simulator_model = file.simulator_model;
  std::unique_ptr<Json> beside;
  if (!side.empty() && !file.simulator_model) {
    beside = Json::parse(side, text);
    if (beside == nullptr) {
      text = "the file beside the model, .sim.json, is no JSON: " + text;
      return ge_model_partition;
    }
  }
  std::string_view inout = file.find(part_inout);
  std::string derived;
  if (inout.empty() && beside != nullptr) {
    derived = from_hex((*beside)["inout"].text());
    inout = derived;
  }
  if (inout.empty()) {
    text =
        "the file has no MODEL_INOUT_INFO partition, from which the simulator describes a model: it is older than "
        "mid-2023. Have it described: ascend-infer simulate describe MODEL.om";
    return ge_model_partition;
  }
  if (!read_inout(inout, out) || out.outputs.empty()) {
    text = "the MODEL_INOUT_INFO partition is damaged";
    return ge_model_partition;
  }
  if (file.unknown_shape && out.gears.empty()) out.shapes = Shapes::dynamic;
  if (file.simulator_model) {
    out.onnx = file.find(part_onnx);
    std::string reason;
    if (!read_parameters(file.find(part_parameters), out, reason)) {
      text = "the simulator model's parameters are damaged: " + reason;
      return ge_model_partition;
    }
    if (out.onnx.empty()) {
      text = "the simulator model holds no ONNX model";
      return ge_model_partition;
    }
  } else {
    for (const Partition& partition : file.partitions)
      if (partition.type == part_weights) out.weight_size += partition.bytes.size();
    out.work_size = out.shapes == Shapes::dynamic ? 0 : task_memory(file.find(part_tasks));
    if (beside != nullptr) {
      read_aipp((*beside)["aipp"], out);
      out.fp16 = (*beside)["options"]["fp16"].boolean();
    }
  }
  return check_model(out, text);
}

int read_bundle(std::string_view bytes, std::vector<std::string_view>& out, std::string& text) {
  OmFile file;
  if (const int code = read_om(bytes, file, text); code != 0) return code;
  if (file.model_type != 5) {
    text = "no bundle: use aclmdlLoadFromFile";
    return ge_param_invalid;
  }
  for (const Partition& partition : file.partitions)
    if (partition.type == part_bundle) out.push_back(partition.bytes);
  if (!out.empty()) return 0;
  text = "the bundle holds no model";
  return ge_model_partition;
}

}  // namespace aclsim
