#include "execution_slot.hpp"

#include <cstring>

namespace ascend_infer {
namespace {

// Large enough for a copy of every gear, dims gears included; ACL's own limit of dimensions bounds it.
AclStatus dims_gear(const Dims &values, aclmdlIODims &out) noexcept {
  if (values.size() > ACL_MAX_DIM_CNT)
    return {AclOutcome::invalid_argument, "a gear has more dimensions than ACL takes"};
  out.name[0] = '\0';
  out.dimCount = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) out.dims[i] = values[i];
  return {};
}

}  // namespace

AclStatus ExecutionSlot::build() noexcept {
  return without_throwing([&]() -> AclStatus {
    const ModelDescription &model = model_.description();
    const bool dynamic = model.shapes == ShapeKind::dynamic;
    for (aclmdlDataset **set : {&input_set_, &output_set_}) {
      *set = device_.api().aclmdlCreateDataset();
      if (*set == nullptr)
        return AclStatus::of_call("aclmdlCreateDataset", 200000, device_.library().recent_message());
    }
    inputs_.resize(model.inputs.size());
    outputs_.resize(model.outputs.size());
    kept.reserve(model.outputs.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (AclStatus status = add(input_set_, inputs_[i], model.inputs[i].bytes, i != model.hidden); !status.ok())
        return status;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (AclStatus status = add(output_set_, outputs_[i], dynamic ? 0 : model.outputs[i].bytes, true); !status.ok())
        return status;
    return create_stream();
  });
}

AclStatus ExecutionSlot::add(aclmdlDataset *dataset, Tensor &tensor, std::size_t bytes, bool staged) noexcept {
  if (bytes != 0) {
    Status status = PoolBlock::take(memory_.device_pool, bytes, memory_.device_owner, tensor.device);
    if (!status.ok()) return AclStatus::of_pool(status, false);
    if (staged && !device_.unified())
      status = PoolBlock::take(memory_.pinned_pool, bytes, memory_.pinned_owner, tensor.pinned);
    if (!status.ok()) return AclStatus::of_pool(status, true);
  }
  tensor.buffer = device_.api().aclCreateDataBuffer(tensor.device.data(), bytes);
  if (tensor.buffer == nullptr)
    return AclStatus::of_call("aclCreateDataBuffer", 200000, device_.library().recent_message());
  ACL_TRY(device_.library(), aclmdlAddDatasetBuffer, dataset, tensor.buffer);
  return {};
}

AclStatus ExecutionSlot::create_stream() noexcept {
  ACL_TRY(device_.library(), aclrtCreateStream, &stream_);
  return create_event(computed_);
}

AclStatus ExecutionSlot::create_event(aclrtEvent &event) noexcept {
  // Events of the old kind (CANN before 5.0) can be waited for by streams too.
  if (device_.api().aclrtCreateEventWithFlag == nullptr) {
    ACL_TRY(device_.library(), aclrtCreateEvent, &event);
  } else {
    ACL_TRY(device_.library(), aclrtCreateEventWithFlag, &event, ACL_EVENT_SYNC);
  }
  return {};
}

AclStatus ExecutionSlot::release() noexcept {
  const acl_api &api = device_.api();
  const AclLibrary &library = device_.library();
  AclStatus first = free_dynamic_outputs();
  const auto note = [&](const char *function, aclError code) {
    if (code != 0 && first.ok()) first = library.check(function, code);
  };
  for (aclmdlDataset **set : {&input_set_, &output_set_}) {
    if (*set != nullptr) note("aclmdlDestroyDataset", api.aclmdlDestroyDataset(*set));
    *set = nullptr;
  }
  for (auto *tensors : {&inputs_, &outputs_}) {
    for (Tensor &tensor : *tensors)
      if (tensor.buffer != nullptr) note("aclDestroyDataBuffer", api.aclDestroyDataBuffer(tensor.buffer));
    tensors->clear();
  }
  for (aclrtEvent *event : {&computed_, &copied_}) {
    if (*event != nullptr) note("aclrtDestroyEvent", api.aclrtDestroyEvent(*event));
    *event = nullptr;
  }
  if (stream_ != nullptr) note("aclrtDestroyStream", api.aclrtDestroyStream(stream_));
  stream_ = nullptr;
  kept.clear();
  return first;
}

AclStatus ExecutionSlot::set_gear(std::size_t gear) noexcept {
  if (gear == gear_ || gear == Batch::no_gear) return {};
  const ModelDescription &model = model_.description();
  const Dims &values = model.gears[gear];
  gear_ = Batch::no_gear;  // unknown until the call has succeeded
  switch (model.shapes) {
    case ShapeKind::batch:
      ACL_TRY(device_.library(), aclmdlSetDynamicBatchSize, model_.id(), input_set_, model.hidden,
              static_cast<std::uint64_t>(values[0]));
      break;
    case ShapeKind::hw:
      ACL_TRY(device_.library(), aclmdlSetDynamicHWSize, model_.id(), input_set_, model.hidden,
              static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1]));
      break;
    default: {
      aclmdlIODims dims;
      if (AclStatus status = dims_gear(values, dims); !status.ok()) return status;
      ACL_TRY(device_.library(), aclmdlSetInputDynamicDims, model_.id(), input_set_, model.hidden, &dims);
    }
  }
  gear_ = gear;
  return {};
}

AclStatus ExecutionSlot::execute_async(aclrtEvent before) noexcept {
  if (before != nullptr && before != computed_) ACL_TRY(device_.library(), aclrtStreamWaitEvent, stream_, before);
  ACL_TRY(device_.library(), aclmdlExecuteAsync, model_.id(), input_set_, output_set_, stream_);
  const aclError code = device_.api().aclrtRecordEvent(computed_, stream_);
  if (code == 0) return {};
  // The run after this one has nothing to wait for: it must not begin before this one has ended.
  AclStatus status = device_.library().check("aclrtRecordEvent", code);
  (void)settle();
  return status;
}

AclStatus ExecutionSlot::settle() noexcept {
  AclStatus status = synchronise(-1);
  if (!status.ok()) (void)synchronise(-1);
  return status;
}

AclStatus ExecutionSlot::synchronise(int timeout_ms) noexcept {
  const acl_api &api = device_.api();
  if (timeout_ms < 0 || api.aclrtSynchronizeStreamWithTimeout == nullptr) {
    ACL_TRY(device_.library(), aclrtSynchronizeStream, stream_);
  } else {
    ACL_TRY(device_.library(), aclrtSynchronizeStreamWithTimeout, stream_, timeout_ms);
  }
  return {};
}

AclStatus ExecutionSlot::synchronise(const WaitPolicy &wait) noexcept {
  if (!wait.sliced()) return synchronise(-1);
  for (;;) {
    AclStatus status = synchronise(WaitPolicy::slice_ms);
    if (status.ok() || status.code() != stream_sync_timeout) return status;  // a slice that ends is no failure
    if (wait.stop()) return AclOutcome::interrupted;
  }
}

AclStatus ExecutionSlot::copy_out(const Batch &batch) noexcept {
  if (device_.unified()) return {};
  for (const BatchOutput &output : batch.outputs) {
    if (output.bytes == 0) continue;
    const Tensor &tensor = outputs_[output.index];
    void *to = output.lease != nullptr ? output.lease->data() : tensor.pinned.data();
    const std::size_t room = output.lease != nullptr ? output.lease->bytes() : tensor.pinned.bytes();
    ACL_TRY(device_.library(), aclrtMemcpyAsync, to, room, tensor.device.data(), output.bytes,
            ACL_MEMCPY_DEVICE_TO_HOST, stream_);
  }
  return {};
}

void ExecutionSlot::hand_over(const Batch &batch) noexcept {
  for (const BatchOutput &output : batch.outputs) {
    void *to = output.lease == nullptr ? output.target : device_.unified() ? output.lease->data() : nullptr;
    if (to != nullptr && output.bytes != 0) std::memcpy(to, staging(outputs_[output.index]), output.bytes);
  }
}

AclStatus ExecutionSlot::fit_inputs(const std::vector<std::size_t> &needed, const std::vector<Dims> &dims) noexcept {
  const acl_api &api = device_.api();
  if (api.aclUpdateDataBuffer == nullptr) return AclStatus::missing("aclUpdateDataBuffer");
  if (api.aclmdlSetDatasetTensorDesc == nullptr) return AclStatus::missing("aclmdlSetDatasetTensorDesc");
  for (const Tensor &tensor : outputs_)
    if (tensor.freed != nullptr)
      if (AclStatus status = free_dynamic_outputs(); !status.ok()) return status;
  const ModelDescription &model = model_.description();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Tensor &tensor = inputs_[i];
    const std::size_t bytes = needed[i] == 0 ? 1 : needed[i];  // an empty tensor has an address all the same
    Status memory;
    if (tensor.device.bytes() < bytes)
      memory = PoolBlock::take(memory_.device_pool, bytes, memory_.device_owner, tensor.device);
    if (!memory.ok()) return AclStatus::of_pool(memory, false);
    if (!device_.unified() && tensor.pinned.bytes() < bytes)
      memory = PoolBlock::take(memory_.pinned_pool, bytes, memory_.pinned_owner, tensor.pinned);
    if (!memory.ok()) return AclStatus::of_pool(memory, true);
    ACL_TRY(device_.library(), aclUpdateDataBuffer, tensor.buffer, tensor.device.data(), bytes);
    const TensorDescription &told = model.inputs[i];
    aclTensorDesc *desc = api.aclCreateTensorDesc(told.dtype, static_cast<int>(dims[i].size()), dims[i].data(), told.format);
    if (desc == nullptr) return AclStatus::of_call("aclCreateTensorDesc", 200000, device_.library().recent_message());
    const aclError code = api.aclmdlSetDatasetTensorDesc(input_set_, desc, i);
    AclStatus status = device_.library().check("aclmdlSetDatasetTensorDesc", code);
    api.aclDestroyTensorDesc(desc);  // the dataset has a copy
    if (!status.ok()) return status;
  }
  return {};
}

AclStatus ExecutionSlot::execute_sync() noexcept {
  ACL_TRY(device_.library(), aclmdlExecute, model_.id(), input_set_, output_set_);
  return {};
}

AclStatus ExecutionSlot::output_shape(std::size_t index, Dims &dims, std::size_t &bytes) noexcept {
  const acl_api &api = device_.api();
  if (api.aclmdlGetDatasetTensorDesc == nullptr) return AclStatus::missing("aclmdlGetDatasetTensorDesc");
  return without_throwing([&]() -> AclStatus {
    const aclTensorDesc *desc = api.aclmdlGetDatasetTensorDesc(output_set_, index);  // the dataset's
    if (desc == nullptr)
      return AclStatus::of_call("aclmdlGetDatasetTensorDesc", 200005, device_.library().recent_message());
    dims.assign(api.aclGetTensorDescNumDims(desc), 0);
    bytes = model_.description().outputs[index].itemsize;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      ACL_TRY(device_.library(), aclGetTensorDescDimV2, desc, i, &dims[i]);
      if (dims[i] < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(dims[i]), &bytes))
        return {AclOutcome::invalid_argument, "the library gives an output dimension of " + std::to_string(dims[i])};
    }
    const std::size_t given = api.aclGetDataBufferSizeV2(outputs_[index].buffer);
    if (bytes > given)
      return {AclOutcome::invalid_argument, "the library gives an output of " + std::to_string(bytes) +
                                                " bytes in a buffer of " + std::to_string(given)};
    return {};
  });
}

AclStatus ExecutionSlot::copy_dynamic_out(std::size_t index, void *target, std::size_t bytes) noexcept {
  void *from = device_.api().aclGetDataBufferAddr(outputs_[index].buffer);
  if (device_.unified()) {
    std::memcpy(target, from, bytes);
    return {};
  }
  ACL_TRY(device_.library(), aclrtMemcpyAsync, target, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_);
  return {};
}

AclStatus ExecutionSlot::free_dynamic_outputs() noexcept {
  AclStatus first;
  const acl_api &api = device_.api();
  if (model_.description().shapes != ShapeKind::dynamic || api.aclUpdateDataBuffer == nullptr) return first;
  for (Tensor &tensor : outputs_) {
    void *address = tensor.buffer == nullptr ? nullptr : api.aclGetDataBufferAddr(tensor.buffer);
    if (address == nullptr) continue;
    AclStatus status;
    if (address != tensor.freed) status = device_.library().check("aclrtFree", api.aclrtFree(address));
    tensor.freed = address;
    const aclError code = api.aclUpdateDataBuffer(tensor.buffer, nullptr, 0);
    if (code == 0) tensor.freed = nullptr;
    else if (status.ok()) status = device_.library().check("aclUpdateDataBuffer", code);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace ascend_infer
