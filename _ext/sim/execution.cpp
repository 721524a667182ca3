#include "execution.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "aipp.hpp"
#include "codes.hpp"
#include "dtypes.hpp"
#include "error_text.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

constexpr unsigned char garbage = 0xA5;

// Runs that work right now, to see two of them in one workspace. Guarded by the big lock.
struct Running {
  Model* model;
  bool* corrupted;
};
std::vector<Running>& running() {
  static auto* list = new std::vector<Running>;
  return *list;
}

std::vector<unsigned char> to_float(const unsigned char* halves, std::size_t count) {
  std::vector<unsigned char> out(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half;
    std::memcpy(&half, halves + i * 2, 2);
    const float value = half_to_float(half);
    std::memcpy(out.data() + i * sizeof(float), &value, sizeof value);
  }
  return out;
}

void make_half(std::vector<unsigned char>& values) {
  const std::size_t count = values.size() / sizeof(float);
  std::vector<unsigned char> out(count * 2);
  for (std::size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, values.data() + i * sizeof(float), sizeof value);
    const std::uint16_t half = float_to_half(value);
    std::memcpy(out.data() + i * 2, &half, 2);
  }
  values.swap(out);
}

// A result that the network computed in another type than the .om gives it; false when there is no such conversion.
bool as_described(const TensorInfo& tensor, Tensor& result, std::string& text) {
  if (result.data != nullptr || tensor.type == tensor.onnx_type) return true;
  if (tensor.type == ACL_FLOAT16 && tensor.onnx_type == ACL_FLOAT) {
    make_half(result.own);
  } else if (tensor.type == ACL_FLOAT && tensor.onnx_type == ACL_FLOAT16) {
    result.own = to_float(result.own.data(), result.own.size() / 2);
  } else {
    text = "output \"" + tensor.name + "\" has element type " + std::to_string(tensor.type) + " in the .om and " +
           std::to_string(tensor.onnx_type) + " (aclDataType) in the ONNX model";
    return false;
  }
  result.type = tensor.type;
  result.bytes = result.own.size();
  return true;
}

// What the network gets of a picture: its own size where AIPP neither crops nor pads. `fed` are the gear's dims.
Dims network_dims(const AippInfo& aipp, const Dims& image, const Dims* fed) {
  if (image.size() != 4) return image;
  Dims size = image;
  if (fed != nullptr && fed->size() == 4) {
    if (size[0] < 0) size[0] = (*fed)[0];
    if (size[1] < 0) size[1] = aipp.src_h;
    if (size[2] < 0) size[2] = (*fed)[2];
  }
  const std::int64_t height = (aipp.crop ? aipp.crop_h : size[1]) + aipp.pad_top + aipp.pad_bottom;
  const std::int64_t width = (aipp.crop ? aipp.crop_w : size[2]) + aipp.pad_left + aipp.pad_right;
  return aipp.nhwc ? Dims{size[0], height, width, size[3]} : Dims{size[0], size[3], height, width};
}

}  // namespace

// The gear that the card takes: what lies in the hidden input when the run begins, whatever the program meant.
const GearInfo* Execution::read_gear(std::string& text) {
  const ModelInfo& info = model_->info();
  const auto hidden = static_cast<std::size_t>(info.hidden_input);
  const TensorInfo& tensor = info.inputs[hidden];
  const std::size_t count = info.gears.front().values.size(), one = element_size(tensor.type);
  End end;
  if (!find_end(inputs_[hidden].address, count * one, end, false, text)) return nullptr;
  if (end.device == nullptr) {
    text = format_error("EE9999", "The hidden input ascend_mbatch_shape_data is not in device memory.");
    return nullptr;
  }
  Dims values;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t value = 0;
    std::int32_t narrow = 0;
    if (one == 8)
      std::memcpy(&value, end.bytes + i * 8, 8);
    else
      std::memcpy(&narrow, end.bytes + i * 4, 4);
    values.push_back(one == 8 ? value : narrow);
  }
  const GearInfo* gear = info.gear(values);
  if (gear == nullptr)
    text = format_error("EE9999",
                        "The hidden input ascend_mbatch_shape_data holds " + std::to_string(values[0]) +
                            ", which is no gear of the model: aclmdlSetDynamic* was not called for these buffers.");
  return gear;
}

std::size_t Execution::need(bool input, std::size_t index, const GearInfo* gear) const {
  const ModelInfo& info = model_->info();
  const TensorInfo& tensor = input ? info.inputs[index] : info.outputs[index];
  if (gear != nullptr && input) {
    if (static_cast<int>(index) == info.hidden_input) return 0;
    const std::size_t seen =
        info.hidden_input >= 0 && index > static_cast<std::size_t>(info.hidden_input) ? index - 1 : index;
    return elements(gear->inputs[seen]) * element_size(tensor.type);
  }
  if (gear != nullptr && index < gear->outputs.size())
    return elements(gear->outputs[index]) * element_size(tensor.type);
  if (info.shapes == Shapes::dynamic && input) return elements(inputs_[index].dims) * element_size(tensor.type);
  return info.shapes == Shapes::dynamic ? 0 : tensor.size;
}

std::size_t Execution::workspace() const {
  std::size_t bytes = 64;
  for (std::size_t i = 0; i < inputs_.size(); ++i) bytes += need(true, i, nullptr);
  return bytes;
}

int Execution::hold_all(const GearInfo* gear, std::string& text) {
  for (const bool input : {true, false}) {
    auto& buffers = input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      Buffer& buffer = buffers[i];
      if (buffer.address == 0) continue;  // allocated when its size is known
      End end;
      if (!find_end(buffer.address, std::max<std::size_t>(1, need(input, i, gear)), end, true, text))
        return rt_aicore_exception;
      if (end.device != model_->device) {
        let_go(end);
        text = format_error("EE9999", std::string("An AI Core read or wrote outside its device's memory: ") +
                                          (input ? "input " : "output ") + std::to_string(i) +
                                          (end.device == nullptr ? " is host memory." : " is on another device."));
        return rt_aicore_exception;
      }
      buffer.end = end;
    }
  }
  return 0;
}

bool Execution::let_go_all() {
  bool lives = true;
  for (auto* buffers : {&inputs_, &outputs_})
    for (Buffer& buffer : *buffers) {
      if (buffer.end.block != nullptr) lives = let_go(buffer.end) && lives;
      buffer.end = End();
    }
  return lives;
}

Nanoseconds Execution::cost(const GearInfo* gear) const {
  const TimeModel& time = options().time;
  const ModelInfo& info = model_->info();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) bytes += need(true, i, gear);
  double items = 1;
  if (info.visible_inputs() > 0) {
    const Dims& first = gear != nullptr ? gear->inputs[0] : inputs_[info.visible(0)].dims;
    if (!first.empty()) items = static_cast<double>(std::max<std::int64_t>(first[0], 1));
  }
  const double ns = time.compute_fixed_us * 1e3 + time.compute_item_us * 1e3 * items +
                    time.compute_byte_ns * static_cast<double>(bytes);
  return static_cast<Nanoseconds>(ns * model_->device->slowness()) + delay;
}

// Without the lock: only this execution's buffers are touched.
bool Execution::compute(const GearInfo* gear, std::vector<Tensor>& results, std::string& text) {
  const ModelInfo& info = model_->info();
  const bool half = info.fp16 || options().fp16;
  std::vector<std::vector<unsigned char>> converted(info.visible_inputs());
  std::vector<Tensor> inputs;
  for (std::size_t v = 0; v < info.visible_inputs(); ++v) {
    const std::size_t i = info.visible(v);
    const TensorInfo& tensor = info.inputs[i];
    Tensor in;
    in.name = tensor.onnx_name;
    in.type = tensor.onnx_type;
    in.dims = gear != nullptr ? gear->onnx_inputs[v] : inputs_[i].dims;
    in.data = inputs_[i].end.bytes;
    if (const AippInfo* aipp = info.aipp_of(i)) {
      if (gear == nullptr || !info.simulator_model)
        in.dims = network_dims(*aipp, tensor.dims, gear == nullptr ? nullptr : &gear->inputs[v]);
      const bool as_bytes = tensor.onnx_type == ACL_UINT8;
      if (!apply_aipp(*aipp, inputs_[i].end.bytes, need(true, i, gear), in.dims, as_bytes, converted[v], text))
        return false;
      if (tensor.onnx_type == ACL_FLOAT16) make_half(converted[v]);
      in.data = converted[v].data();
    } else if (tensor.type == ACL_FLOAT16 && tensor.onnx_type == ACL_FLOAT) {
      converted[v] = to_float(inputs_[i].end.bytes, elements(in.dims));
      in.data = converted[v].data();
    } else if (tensor.type == ACL_FLOAT && tensor.onnx_type == ACL_FLOAT16) {
      converted[v].assign(inputs_[i].end.bytes, inputs_[i].end.bytes + elements(in.dims) * sizeof(float));
      make_half(converted[v]);
      in.data = converted[v].data();
    } else if (tensor.type != tensor.onnx_type) {
      text = "input \"" + tensor.name + "\" has element type " + std::to_string(tensor.type) + " in the .om and " +
             std::to_string(tensor.onnx_type) + " (aclDataType) in the ONNX model";
      return false;
    }
    in.bytes = elements(in.dims) * element_size(in.type);
    if (half && in.type == ACL_FLOAT) {
      if (converted[v].empty()) {
        const auto* from = static_cast<const unsigned char*>(in.data);
        converted[v].assign(from, from + in.bytes);
        in.data = converted[v].data();
      }
      round_through_half(reinterpret_cast<float*>(converted[v].data()), in.bytes / sizeof(float));
    }
    inputs.push_back(std::move(in));
  }
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const TensorInfo& tensor = info.outputs[i];
    Tensor out;
    out.name = tensor.onnx_name;
    out.type = tensor.onnx_type;
    const bool known = gear != nullptr ? i < gear->outputs.size() : info.shapes != Shapes::dynamic;
    if (known && outputs_[i].end.bytes != nullptr && tensor.type == tensor.onnx_type) {
      out.dims = gear != nullptr ? gear->outputs[i] : tensor.dims;
      out.data = outputs_[i].end.bytes;
      out.bytes = elements(out.dims) * element_size(out.type);
    }
    results.push_back(std::move(out));
  }
  if (!model_->content->network->run(inputs, results, text)) return false;
  if (half)
    for (Tensor& out : results)
      if (out.type == ACL_FLOAT)
        round_through_half(static_cast<float*>(out.data != nullptr ? out.data : static_cast<void*>(out.own.data())),
                           out.bytes / sizeof(float));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!as_described(info.outputs[i], results[i], text)) return false;
  return true;
}

// With the lock: what the network allocated goes to the program's buffers, or becomes one.
int Execution::deliver(std::vector<Tensor>& results, std::string& text) {
  Dataset* dataset = HandleTable::get().peek<Dataset>(output_dataset_);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i];
    Buffer& buffer = outputs_[i];
    if (result.data == nullptr) {
      if (buffer.address == 0) {
        const std::size_t padded = (std::max<std::size_t>(result.bytes, 1) + 63) / 32 * 32;
        const DeviceBlock* block = model_->device->memory.allocate(std::max<std::size_t>(result.bytes, 1), padded,
                                                                   DeviceMemory::Pages::huge_first, 33);
        DataBuffer* data = dataset == nullptr ? nullptr : dataset->buffer(i);
        if (block == nullptr || data == nullptr) {
          text = format_error("EL0004", "Failed to allocate memory for output " + std::to_string(i) + ".");
          return ge_memory_allocation;
        }
        data->data = reinterpret_cast<void*>(block->begin);
        data->size = result.bytes;
        std::memcpy(model_->device->memory.shadow(block->begin), result.own.data(), result.bytes);
      } else {
        if (buffer.size < result.bytes || model_->device->memory.block_of(buffer.address, result.bytes) == nullptr) {
          text = format_error("E13025", "Output " + std::to_string(i) + " has " + std::to_string(buffer.size) +
                                            " bytes, the result " + std::to_string(result.bytes) + ".");
          return ge_param_invalid;
        }
        std::memcpy(buffer.end.bytes, result.own.data(), result.bytes);
      }
    }
    if (model_->info().shapes == Shapes::dynamic && dataset != nullptr && i < dataset->entries.size()) {
      auto desc = std::make_shared<TensorDesc>();
      desc->type = result.type;
      desc->format = model_->info().outputs[i].format;
      desc->dims = result.dims;
      auto& entry = dataset->entries[i].desc;
      if (entry != nullptr && entry->slot != nullptr) HandleTable::get().erase(entry->slot);
      entry = std::move(desc);
    }
  }
  return 0;
}

int Execution::perform(Stream* stream, Lock& lock, std::string& text, Nanoseconds limit) {
  const auto keep = model_;
  Model& model = *model_;
  ++model.device->executions;
  const GearInfo* gear = nullptr;
  if (!model.info().gears.empty() && (gear = read_gear(text)) == nullptr) return rt_aicore_exception;
  int code = hold_all(gear, text);
  if (code != 0) {
    let_go_all();
    return code;
  }
  DeviceMemory& memory = model.device->memory;
  if (model.work.size != 0 && memory.block_of(model.work.begin, model.work.size) == nullptr) {
    let_go_all();
    text = format_error("EE9999", "An AI Core read or wrote memory that does not live: the workspace of model " +
                                      std::to_string(model.id) + " was freed.");
    return rt_aicore_exception;
  }
  if (!model.weights_intact()) {
    Machine::get().violation("weights of a loaded model were freed or overwritten");
    if (memory.block_of(model.weight.begin, model.weight.size) == nullptr) {
      let_go_all();
      text = format_error("EE9999", "An AI Core read memory that does not live: the weights of model " +
                                        std::to_string(model.id) + " were freed.");
      return rt_aicore_exception;
    }
    corrupted_ = true;
  }
  // One id has one workspace and one table of arguments; two models may have been given the same workspace.
  const bool twice = model.running > 0;
  for (const Running& other : running())
    if (other.model == &model || other.model->work.overlaps(model.work)) {
      Machine::get().violation(other.model == &model ? "one model id ran twice at a time"
                                                     : "two models ran in one workspace at a time");
      *other.corrupted = corrupted_ = true;
    }
  ++model.running;
  running().push_back({&model, &corrupted_});
  const Nanoseconds price = cost(gear);
  const Nanoseconds begin = Clock::get().now();
  Nanoseconds end = begin;
  if (stream != nullptr)
    end = price == 0 ? 0 : stream->occupy(Engine::compute, price);
  else
    end = model.device->occupy(Engine::compute, begin, price);

  std::vector<Tensor> results;
  lock.unlock();
  // A second run of one id computes nothing: both would write to the same place.
  bool good = twice;
  try {
    good = twice || compute(gear, results, text);
  } catch (const std::exception& error) {
    text = error.what();  // no memory: what was held and counted for the run is given back below
  }
  if (price == 0 && !Clock::get().is_virtual()) {
    const Nanoseconds took = Clock::get().now() - begin;
    lock.lock();
    model.device->busy_ns += took;
  } else {
    lock.lock();
  }
  bool in_time = true;
  if (stream != nullptr) {
    if (price != 0) stream->wait_until(lock, end);
  } else if (Clock::get().is_virtual()) {
    in_time = end <= begin + limit || limit == UINT64_MAX;
    Clock::get().advance_to(in_time ? end : begin + limit);
  } else if (price != 0) {
    in_time = limit == UINT64_MAX || end <= begin + limit;
    const Nanoseconds until = in_time ? end : begin + limit;
    lock.unlock();
    if (until > Clock::real_now()) Clock::get().sleep(until - Clock::real_now());
    lock.lock();
  }
  --model.running;
  auto& list = running();
  list.erase(std::find_if(list.begin(), list.end(), [&](const Running& r) { return r.corrupted == &corrupted_; }));

  if (!good) {
    text = format_error("EE1009",
                        "Failed to execute model (model_id=" + std::to_string(model.id) + "). Reason: " + text + ".");
    code = rt_model_execute;
  } else if (!twice) {
    code = deliver(results, text);
  }
  if (corrupted_ && !twice)
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].end.bytes != nullptr) std::memset(outputs_[i].end.bytes, garbage, need(false, i, gear));
  if (twice && code == 0) {
    text = format_error("EE1009", "Failed to execute model (model_id=" + std::to_string(model.id) +
                                      "). Reason: it was running already.");
    code = rt_model_execute;
  }
  if (!let_go_all() && code == 0) {
    Machine::get().violation("memory freed while a task worked on it");
    text = format_error(
        "EE9999", "An AI Core read or wrote memory that was freed while model " + std::to_string(model.id) + " ran.");
    code = rt_aicore_exception;
  }
  if (!in_time && code == 0) {
    text = format_error("EE1009", "Failed to execute model (model_id=" + std::to_string(model.id) +
                                      "). Reason: it ran longer than its time-out.");
    code = ge_execute_timeout;
  }
  return code;
}

}  // namespace aclsim
