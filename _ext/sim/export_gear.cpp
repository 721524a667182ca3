// Setting the gear of a run: batch size, image size, dimensions.
#include <cstring>

#include "call.hpp"
#include "copy.hpp"
#include "dataset.hpp"
#include "dtypes.hpp"
#include "model_table.hpp"

using namespace aclsim;

namespace {

// Writes the gear's values into the hidden input, at once and without regard to any stream, and keeps the gear with
// the dataset and with the model. `values` answers null when the model has no such gear.
template <typename Find>
int set_gear(const char* function, std::uint32_t id, void* handle, std::size_t index, GearChoice::Kind kind,
             Shapes shapes, Find find) {
  Lock lock(big_lock());
  Dataset* dataset = HandleTable::get().peek<Dataset>(handle);
  if (dataset == nullptr)
    return handle == nullptr ? fail_null(function, "dataset") : fail_handle(function, "dataset", handle);
  int code = 0;
  if (current_context(function, code) == nullptr) return code;
  const auto model = ModelTable::get().find(id);
  if (model == nullptr)
    return fail(ge_model_id_invalid, "E13014", "%s failed: there is no loaded model %u.", function, id);
  const ModelInfo& info = model->info();
  if (info.gears.empty() || info.hidden_input < 0)
    return fail(model_not_dynamic, "E19999", "%s failed: model %u was not converted with gears.", function, id);
  if (info.shapes != shapes)
    return fail(ge_dynamic_batch_invalid, "E13016", "%s failed: the gears of model %u are of another kind.", function,
                id);
  const GearInfo* gear = find(info);
  if (gear == nullptr) {
    std::string list;
    for (const GearInfo& known : info.gears) {
      list += list.empty() ? "" : "; ";
      for (std::size_t i = 0; i < known.values.size(); ++i)
        list += (i == 0 ? "" : ",") + std::to_string(known.values[i]);
    }
    return fail(ge_dynamic_batch_invalid, "E13016", "%s failed: that is no gear of model %u. Its gears are %s.",
                function, id, list.c_str());
  }
  if (index >= dataset->entries.size() || static_cast<int>(index) != info.hidden_input)
    return fail_value(function, std::to_string(index), "index", "it is not that of the input ascend_mbatch_shape_data");
  const DataBuffer* buffer = dataset->buffer(index);
  if (buffer == nullptr) return fail_value(function, std::to_string(index), "index", "its data buffer was destroyed");
  if (buffer->data == nullptr)
    return fail(ge_dynamic_address_invalid, "E13015", "%s failed: the hidden input's buffer has no memory.", function);
  const std::size_t one = element_size(info.inputs[index].type), needed = one * gear->values.size();
  if (buffer->size < needed)
    return fail(ge_dynamic_length_invalid, "E13015",
                "%s failed: the hidden input's buffer has %zu bytes, the gear needs %zu.", function, buffer->size,
                needed);
  std::vector<unsigned char> bytes(needed);
  for (std::size_t i = 0; i < gear->values.size(); ++i) {
    const std::int64_t wide = gear->values[i];
    const auto narrow = static_cast<std::int32_t>(wide);
    if (one == 8)
      std::memcpy(&bytes[i * 8], &wide, 8);
    else
      std::memcpy(&bytes[i * 4], &narrow, 4);
  }
  if (Machine::get().device_at(reinterpret_cast<Address>(buffer->data)) == nullptr)
    return fail(ge_dynamic_address_invalid, "E13015", "%s failed: the hidden input's buffer is not in device memory.",
                function);
  Extent extent;
  extent.width = extent.dst_pitch = extent.src_pitch = needed;
  if (code = copy_now(lock, function, buffer->data, bytes.data(), extent, ACL_MEMCPY_HOST_TO_DEVICE); code != 0)
    return code;
  if (dataset = HandleTable::get().peek<Dataset>(handle); dataset == nullptr)
    return fail_handle(function, "dataset", handle);
  // One kind displaces the others.
  dataset->gear.kind = kind;
  dataset->gear.values = gear->values;
  model->current = dataset->gear;
  return 0;
}

}  // namespace

extern "C" aclError aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t batch) {
  return run(Function::aclmdlSetDynamicBatchSize, [&] {
    if (batch == 0) return fail_value("aclmdlSetDynamicBatchSize", "0", "batchSize", "it must be greater than 0");
    return set_gear("aclmdlSetDynamicBatchSize", id, dataset, index, GearChoice::Kind::batch, Shapes::batch,
                    [&](const ModelInfo& info) { return info.gear({static_cast<std::int64_t>(batch)}); });
  });
}

extern "C" aclError aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset* dataset, size_t index, uint64_t height,
                                           uint64_t width) {
  return run(Function::aclmdlSetDynamicHWSize, [&] {
    if (height == 0 || width == 0)
      return fail_value("aclmdlSetDynamicHWSize", "0", "height or width", "it must be greater than 0");
    return set_gear("aclmdlSetDynamicHWSize", id, dataset, index, GearChoice::Kind::hw, Shapes::hw,
                    [&](const ModelInfo& info) {
                      return info.gear({static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)});
                    });
  });
}

extern "C" aclError aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset* dataset, size_t index,
                                              const aclmdlIODims* dims) {
  return run(Function::aclmdlSetInputDynamicDims, [&] {
    if (dims == nullptr) return fail_null("aclmdlSetInputDynamicDims", "dims");
    if (dims->dimCount > ACL_MAX_DIM_CNT)
      return fail_value("aclmdlSetInputDynamicDims", std::to_string(dims->dimCount), "dimCount", "it is above 128");
    return set_gear("aclmdlSetInputDynamicDims", id, dataset, index, GearChoice::Kind::dims, Shapes::dims,
                    [&](const ModelInfo& info) -> const GearInfo* {
                      const Dims wanted(dims->dims, dims->dims + dims->dimCount);
                      for (const GearInfo& gear : info.gears) {
                        Dims all;
                        for (const Dims& input : gear.inputs) all.insert(all.end(), input.begin(), input.end());
                        if (all == wanted) return &gear;
                      }
                      return nullptr;
                    });
  });
}
