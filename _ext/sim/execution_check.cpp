// The checks of a run that happen at the call.
#include "call.hpp"
#include "dtypes.hpp"
#include "execution.hpp"

namespace aclsim {
namespace {

constexpr std::size_t slack = 64;  // bytes by which a buffer may be too small without anybody noticing

int wrong_size(const char* function, const char* what, std::size_t index, std::size_t got, std::size_t needed) {
  return fail(ge_param_invalid, "E13025", "%s failed: %s %zu has %zu bytes, the model needs %zu.", function, what,
              index, got, needed);
}

// A dimension's limits are kept, or the reason is given.
bool in_range(const TensorInfo& tensor, const Dims& dims) {
  if (dims.size() != tensor.dims.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || (tensor.dims[i] >= 0 && dims[i] != tensor.dims[i])) return false;
    if (i < tensor.ranges.size() && tensor.dims[i] < 0 &&
        (dims[i] < tensor.ranges[i].first || (tensor.ranges[i].second >= 0 && dims[i] > tensor.ranges[i].second)))
      return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Execution> Execution::prepare(const char* function, std::uint32_t id, const void* inputs, void* outputs,
                                              bool sync, int& code) {
  if (inputs == nullptr || outputs == nullptr) {
    code = fail_null(function, inputs == nullptr ? "input" : "output");
    return nullptr;
  }
  const auto context = current_context(function, code);
  if (context == nullptr) return nullptr;
  const auto model = ModelTable::get().find(id);
  if (model == nullptr) {
    code = fail(ge_model_id_invalid, "E13014", "%s failed: there is no loaded model %u.", function, id);
    return nullptr;
  }
  if (model->context != context) {
    code = fail(rt_model_context, "EE1010", "%s execution failed because model %u was loaded in another context.",
                function, id);
    return nullptr;
  }
  Dataset* in = HandleTable::get().peek<Dataset>(inputs);
  Dataset* out = HandleTable::get().peek<Dataset>(outputs);
  if (in == nullptr || out == nullptr) {
    code = fail_handle(function, "dataset", in == nullptr ? inputs : outputs);
    return nullptr;
  }
  // One model id keeps to one way of running; true dynamic shapes have no stream of their own to mix up.
  const Model::Mode mode = sync ? Model::Mode::sync : Model::Mode::async;
  if (model->info().shapes != Shapes::dynamic && model->mode != Model::Mode::none && model->mode != mode) {
    code = fail(ge_failure, "E19999", "%s failed: NnExecute not support mix execute: model %u was run %s before.",
                function, id, sync ? "asynchronously" : "synchronously");
    return nullptr;
  }
  auto execution = std::unique_ptr<Execution>(new Execution);
  execution->model_ = model;
  execution->sync_ = sync;
  execution->output_dataset_ = outputs;
  ++model->pending;
  code = execution->check_inputs(function, *in);
  if (code == 0) code = execution->check_outputs(function, *out);
  if (code != 0) return nullptr;
  model->mode = mode;
  return execution;
}

Execution::~Execution() {
  if (model_ != nullptr) --model_->pending;
}

int Execution::check_inputs(const char* function, const Dataset& inputs) {
  const ModelInfo& info = model_->info();
  if (inputs.entries.size() < info.inputs.size())
    return fail_value(function, std::to_string(inputs.entries.size()), "input",
                      "the model has more inputs, hidden ones included");
  if (inputs.entries.size() > info.inputs.size())
    return fail(ge_param_invalid, "E13025", "%s failed: %zu input buffers for a model of %zu inputs.", function,
                inputs.entries.size(), info.inputs.size());
  const bool unchecked = inputs.gear.kind != GearChoice::Kind::none || inputs.dynamic_aipp;
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    const DataBuffer* data = inputs.buffer(i);
    if (data == nullptr) return fail_value(function, std::to_string(i), "input", "its data buffer was destroyed");
    const TensorInfo& tensor = info.inputs[i];
    Buffer buffer;
    buffer.address = reinterpret_cast<Address>(data->data);
    buffer.size = data->size;
    if (info.shapes == Shapes::dynamic && tensor.dynamic()) {
      const auto& desc = inputs.entries[i].desc;
      if (desc == nullptr)
        return fail_value(function, std::to_string(i), "input",
                          "its shape is dynamic: aclmdlSetDatasetTensorDesc must say which it is");
      if (!in_range(tensor, desc->dims))
        return fail_value(function, std::to_string(i), "input", "its shape is outside the model's range");
      buffer.dims = desc->dims;
    } else {
      buffer.dims = tensor.dims_v2;
    }
    if (data->data == nullptr) return fail_value(function, std::to_string(i), "input", "its buffer has no memory");
    std::size_t needed = tensor.size;
    if (info.shapes == Shapes::dynamic) needed = elements(buffer.dims) * element_size(tensor.type);
    if (!unchecked && buffer.size + slack < needed) return wrong_size(function, "input", i, buffer.size, needed);
    inputs_.push_back(std::move(buffer));
  }
  return 0;
}

int Execution::check_outputs(const char* function, const Dataset& outputs) {
  const ModelInfo& info = model_->info();
  if (outputs.entries.size() < info.outputs.size())
    return fail_value(function, std::to_string(outputs.entries.size()), "output", "the model has more outputs");
  if (outputs.entries.size() > info.outputs.size())
    return fail(ge_param_invalid, "E13025", "%s failed: %zu output buffers for a model of %zu outputs.", function,
                outputs.entries.size(), info.outputs.size());
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const DataBuffer* data = outputs.buffer(i);
    if (data == nullptr) return fail_value(function, std::to_string(i), "output", "its data buffer was destroyed");
    Buffer buffer;
    buffer.address = reinterpret_cast<Address>(data->data);
    buffer.size = data->size;
    const bool empty = data->data == nullptr && data->size == 0;
    if (data->data == nullptr && !(empty && sync_))
      return fail_value(
          function, std::to_string(i), "output",
          empty ? "only a synchronous run allocates memory for an empty buffer" : "its buffer has no memory");
    // Without a size check when a gear was set is the input side's rule; outputs hold the largest gear.
    if (!empty && info.shapes != Shapes::dynamic && info.gears.empty() && buffer.size + slack < info.outputs[i].size)
      return wrong_size(function, "output", i, buffer.size, info.outputs[i].size);
    outputs_.push_back(std::move(buffer));
  }
  return 0;
}

}  // namespace aclsim
