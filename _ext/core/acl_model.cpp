#include "acl_model.hpp"

#include <algorithm>

namespace ascend_infer {
namespace {

constexpr std::size_t all_inputs = static_cast<std::size_t>(-1);  // the only index the gear functions take
constexpr std::size_t most_gears = 4096;                            // far above what a compiler makes; a sane bound

bool has_open_dim(const TensorDescription &tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [](std::int64_t dim) { return dim < 0; });
}

AclStatus dims_of(const aclmdlIODims &from, Dims &to) {
  if (from.dimCount > ACL_MAX_DIM_CNT)
    return {AclOutcome::invalid_argument, "the library gives a tensor " + std::to_string(from.dimCount) + " dimensions"};
  to.assign(from.dims, from.dims + from.dimCount);
  return {};
}

// A model's first call after another user of ACL has finalised it for everyone: the call is made again then.
template <class Call>
AclStatus initialised(const AclLibrary &library, const char *function, Call call) noexcept {
  constexpr aclError not_initialised = 100001, engine_not_initialised = 145001;
  aclError code = call();
  if (code == not_initialised || code == engine_not_initialised) {
    (void)library.recent_message();
    if (AclStatus status = AclProcess::get().initialise_again(library); !status.ok()) return status;
    code = call();
  }
  return library.check(function, code);
}

std::string text_of(const char *text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace

Dims ModelDescription::input_dims(std::size_t input, std::size_t gear) const {
  const Dims &declared = inputs[input].dims;
  const Dims &values = gears[gear];
  if (shapes == ShapeKind::dims) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < input; ++i)
      if (i != hidden) begin += inputs[i].dims.size();
    if (begin + declared.size() > values.size()) return declared;
    return Dims(values.begin() + static_cast<std::ptrdiff_t>(begin),
                values.begin() + static_cast<std::ptrdiff_t>(begin + declared.size()));
  }
  Dims filled = declared;
  std::size_t next = 0;
  for (std::int64_t &dim : filled)
    if (dim < 0) dim = values[std::min(next++, values.size() - 1)];
  return filled;
}

AclStatus query_model_sizes(const AclDevice &device, const std::string &path, ModelSizes &out) noexcept {
  const ContextGuard guard(device);
  if (!guard.ok()) return guard.status();
  return initialised(device.library(), "aclmdlQuerySize",
                     [&] { return device.api().aclmdlQuerySize(path.c_str(), &out.work, &out.weights); });
}

AclStatus AclModel::load(const std::string &path, Address work, std::size_t work_bytes, Address weights,
                         std::size_t weight_bytes) noexcept {
  AclStatus status = initialised(device_->library(), "aclmdlLoadFromFileWithMem", [&] {
    return device_->api().aclmdlLoadFromFileWithMem(path.c_str(), &id_, reinterpret_cast<void *>(work), work_bytes,
                                                    reinterpret_cast<void *>(weights), weight_bytes);
  });
  loaded_ = status.ok();
  return status;
}

AclStatus AclModel::unload() noexcept {
  AclStatus first;
  if (desc_ != nullptr) {
    first = device_->library().check("aclmdlDestroyDesc", device_->api().aclmdlDestroyDesc(desc_));
    desc_ = nullptr;
  }
  if (!loaded_) return first;
  loaded_ = false;
  AclStatus status = device_->library().check("aclmdlUnload", device_->api().aclmdlUnload(id_));
  return first.ok() ? status : first;
}

AclStatus AclModel::describe() noexcept {
  return without_throwing([&]() -> AclStatus {
    desc_ = device_->api().aclmdlCreateDesc();
    if (desc_ == nullptr)
      return AclStatus::of_call("aclmdlCreateDesc", 200000, device_->library().recent_message());
    ACL_TRY(device_->library(), aclmdlGetDesc, desc_, id_);
    if (AclStatus status = read_tensors(); !status.ok()) return status;
    return read_gears();
  });
}

AclStatus AclModel::read_tensors() {
  const acl_api &api = device_->api();
  const AclLibrary &library = device_->library();
  description_ = {};
  const auto dims = std::make_unique<aclmdlIODims>();
  for (const bool input : {true, false}) {
    const std::size_t count = input ? api.aclmdlGetNumInputs(desc_) : api.aclmdlGetNumOutputs(desc_);
    auto &tensors = input ? description_.inputs : description_.outputs;
    for (std::size_t i = 0; i < count; ++i) {
      TensorDescription tensor;
      tensor.name = text_of(input ? api.aclmdlGetInputNameByIndex(desc_, i) : api.aclmdlGetOutputNameByIndex(desc_, i));
      tensor.dtype = input ? api.aclmdlGetInputDataType(desc_, i) : api.aclmdlGetOutputDataType(desc_, i);
      tensor.format = input ? api.aclmdlGetInputFormat(desc_, i) : api.aclmdlGetOutputFormat(desc_, i);
      tensor.bytes = input ? api.aclmdlGetInputSizeByIndex(desc_, i) : api.aclmdlGetOutputSizeByIndex(desc_, i);
      tensor.itemsize = api.aclDataTypeSize(tensor.dtype);
      if (input) {
        // The second version states dims in bytes of the picture where static AIPP takes one.
        ACL_TRY(library, aclmdlGetInputDimsV2, desc_, i, dims.get());
      } else {
        ACL_TRY(library, aclmdlGetOutputDims, desc_, i, dims.get());
      }
      if (AclStatus status = dims_of(*dims, tensor.dims); !status.ok()) return status;
      if (input && tensor.name != ACL_DYNAMIC_TENSOR_NAME) {
        std::size_t attached = 0;
        if (api.aclmdlGetAippType(id_, i, &tensor.aipp, &attached) != 0) {
          tensor.aipp = ACL_DATA_WITHOUT_AIPP;
          (void)library.recent_message();
        }
      }
      if (input && tensor.name == ACL_DYNAMIC_TENSOR_NAME) description_.hidden = i;
      tensors.push_back(std::move(tensor));
    }
  }
  return {};
}

AclStatus AclModel::read_gears() {
  const acl_api &api = device_->api();
  const AclLibrary &library = device_->library();
  if (description_.hidden == ModelDescription::none) {
    for (const TensorDescription &tensor : description_.inputs)
      if (has_open_dim(tensor)) description_.shapes = ShapeKind::dynamic;
    // Fixed inputs may still lead to outputs whose size depends on values.
    for (const TensorDescription &tensor : description_.outputs)
      if (has_open_dim(tensor)) description_.shapes = ShapeKind::dynamic;
    return {};
  }
  const auto batches = std::make_unique<aclmdlBatch>();
  if (api.aclmdlGetDynamicBatch(desc_, batches.get()) == 0 && batches->batchCount > 0) {
    description_.shapes = ShapeKind::batch;
    for (std::size_t i = 0; i < std::min<std::size_t>(batches->batchCount, ACL_MAX_BATCH_NUM); ++i)
      description_.gears.push_back({static_cast<std::int64_t>(batches->batch[i])});
    return {};
  }
  const auto sizes = std::make_unique<aclmdlHW>();
  if (api.aclmdlGetDynamicHW(desc_, all_inputs, sizes.get()) == 0 && sizes->hwCount > 0) {
    description_.shapes = ShapeKind::hw;
    for (std::size_t i = 0; i < std::min<std::size_t>(sizes->hwCount, ACL_MAX_HW_NUM); ++i)
      description_.gears.push_back(
          {static_cast<std::int64_t>(sizes->hw[i][0]), static_cast<std::int64_t>(sizes->hw[i][1])});
    return {};
  }
  std::size_t count = 0;
  ACL_TRY(library, aclmdlGetInputDynamicGearCount, desc_, all_inputs, &count);
  if (count == 0 || count > most_gears)
    return {AclOutcome::invalid_argument, "the model has a gear input, and the library counts " +
                                              std::to_string(count) + " gears"};
  std::vector<aclmdlIODims> gears(count);
  ACL_TRY(library, aclmdlGetInputDynamicDims, desc_, all_inputs, gears.data(), count);
  description_.shapes = ShapeKind::dims;
  for (const aclmdlIODims &gear : gears) {
    description_.gears.emplace_back();
    if (AclStatus status = dims_of(gear, description_.gears.back()); !status.ok()) return status;
  }
  return {};
}

AclStatus AclModel::current_output_dims(std::vector<Dims> &out) const noexcept {
  return without_throwing([&]() -> AclStatus {
    const auto dims = std::make_unique<aclmdlIODims>();
    out.assign(description_.outputs.size(), {});
    for (std::size_t i = 0; i < out.size(); ++i) {
      ACL_TRY(device_->library(), aclmdlGetCurOutputDims, desc_, i, dims.get());
      if (AclStatus status = dims_of(*dims, out[i]); !status.ok()) return status;
    }
    return {};
  });
}

}  // namespace ascend_infer
