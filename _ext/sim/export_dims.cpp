// Dimensions and gears of a described model.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "desc.hpp"

using namespace aclsim;

namespace {

void fill(aclmdlIODims* out, const std::string& name, const std::string& stand_in, const Dims& dims) {
  std::memset(out, 0, sizeof *out);
  const std::string& shown = name.size() < ACL_MAX_TENSOR_NAME_LEN ? name : stand_in;
  std::memcpy(out->name, shown.data(), std::min<std::size_t>(shown.size(), ACL_MAX_TENSOR_NAME_LEN - 1));
  out->dimCount = std::min<std::size_t>(dims.size(), ACL_MAX_DIM_CNT);
  std::copy_n(dims.begin(), out->dimCount, out->dims);
}

template <typename Pick>
int dims_of(Function function, const void* handle, bool input, std::size_t index, aclmdlIODims* out, Pick pick) {
  return run(function, [&] {
    if (out == nullptr) return fail_null(name_of(function), "dims");
    const Lock lock(big_lock());
    int code = 0;
    const ModelDesc* desc = described(name_of(function), handle, code);
    if (desc == nullptr) return code;
    const auto& tensors = input ? desc->info().inputs : desc->info().outputs;
    if (index >= tensors.size())
      return fail_value(name_of(function), std::to_string(index), "index", "the model has fewer");
    const std::string stand_in =
        "acl_modelId_" + std::to_string(desc->model) + (input ? "_input_" : "_output_") + std::to_string(index);
    Dims dims;
    if (code = pick(*desc, tensors[index], dims); code != 0) return code;
    fill(out, tensors[index].name, stand_in, dims);
    return 0;
  });
}

template <typename Use>
int use(Function function, const void* handle, const void* out, Use body) {
  return run(function, [&] {
    if (out == nullptr) return fail_null(name_of(function), "the result");
    const Lock lock(big_lock());
    int code = 0;
    const ModelDesc* desc = described(name_of(function), handle, code);
    return desc == nullptr ? code : body(*desc);
  });
}

constexpr auto no_index = static_cast<std::size_t>(-1);

}  // namespace

extern "C" aclError aclmdlGetInputDims(const aclmdlDesc* handle, size_t index, aclmdlIODims* out) {
  return dims_of(Function::aclmdlGetInputDims, handle, true, index, out,
                 [](const ModelDesc&, const TensorInfo& t, Dims& dims) {
                   dims = t.dims;
                   return 0;
                 });
}

extern "C" aclError aclmdlGetInputDimsV2(const aclmdlDesc* handle, size_t index, aclmdlIODims* out) {
  return dims_of(Function::aclmdlGetInputDimsV2, handle, true, index, out,
                 [](const ModelDesc&, const TensorInfo& t, Dims& dims) {
                   dims = t.dims_v2;
                   return 0;
                 });
}

extern "C" aclError aclmdlGetOutputDims(const aclmdlDesc* handle, size_t index, aclmdlIODims* out) {
  return dims_of(Function::aclmdlGetOutputDims, handle, false, index, out,
                 [](const ModelDesc&, const TensorInfo& t, Dims& dims) {
                   dims = t.dims;
                   return 0;
                 });
}

extern "C" aclError aclmdlGetCurOutputDims(const aclmdlDesc* handle, size_t index, aclmdlIODims* out) {
  return dims_of(Function::aclmdlGetCurOutputDims, handle, false, index, out,
                 [&](const ModelDesc& desc, const TensorInfo& t, Dims& dims) {
                   if (desc.info().shapes == Shapes::dynamic)
                     return fail(api_not_support, "EH0006",
                                 "aclmdlGetCurOutputDims is not supported. Reason: the model's shapes are dynamic; ask "
                                 "the output dataset's tensor description.");
                   dims = t.dims;
                   const auto model = ModelTable::get().find(desc.model);
                   if (model == nullptr)
                     return fail(ge_model_id_invalid, "E13014",
                                 "aclmdlGetCurOutputDims failed: the description's model is not loaded.");
                   // What any thread set last for this model: the state is the model's, not the dataset's.
                   if (const GearInfo* gear = desc.info().gear(model->current.values);
                       gear != nullptr && index < gear->outputs.size())
                     dims = gear->outputs[index];
                   return 0;
                 });
}

extern "C" aclError aclmdlGetInputDimsRange(const aclmdlDesc* handle, size_t index, aclmdlIODimsRange* out) {
  return use(Function::aclmdlGetInputDimsRange, handle, out, [&](const ModelDesc& desc) {
    if (index >= desc.info().inputs.size())
      return fail_value("aclmdlGetInputDimsRange", std::to_string(index), "index", "the model has fewer inputs");
    std::memset(out, 0, sizeof *out);
    const auto& ranges = desc.info().inputs[index].ranges;
    out->rangeCount = std::min<std::size_t>(ranges.size(), ACL_MAX_DIM_CNT);
    for (std::size_t i = 0; i < out->rangeCount; ++i) {
      out->range[i][0] = ranges[i].first;
      out->range[i][1] = ranges[i].second;
    }
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetDynamicBatch(const aclmdlDesc* handle, aclmdlBatch* out) {
  return use(Function::aclmdlGetDynamicBatch, handle, out, [&](const ModelDesc& desc) {
    std::memset(out, 0, sizeof *out);
    if (desc.info().shapes != Shapes::batch) return static_cast<int>(ok);
    out->batchCount = std::min<std::size_t>(desc.info().gears.size(), ACL_MAX_BATCH_NUM);
    for (std::size_t i = 0; i < out->batchCount; ++i)
      out->batch[i] = static_cast<std::uint64_t>(desc.info().gears[i].values[0]);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetDynamicHW(const aclmdlDesc* handle, size_t index, aclmdlHW* out) {
  return use(Function::aclmdlGetDynamicHW, handle, out, [&](const ModelDesc& desc) {
    (void)index;  // documented as -1; the real function looks at no other value either
    std::memset(out, 0, sizeof *out);
    if (desc.info().shapes != Shapes::hw) return static_cast<int>(ok);
    out->hwCount = std::min<std::size_t>(desc.info().gears.size(), ACL_MAX_HW_NUM);
    for (std::size_t i = 0; i < out->hwCount; ++i)
      for (std::size_t k = 0; k < 2; ++k) out->hw[i][k] = static_cast<std::uint64_t>(desc.info().gears[i].values.at(k));
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* handle, size_t index, size_t* out) {
  return use(Function::aclmdlGetInputDynamicGearCount, handle, out, [&](const ModelDesc& desc) {
    if (index != no_index)
      return fail_value("aclmdlGetInputDynamicGearCount", std::to_string(index), "index", "it must be (size_t)-1");
    *out = desc.info().shapes == Shapes::dims ? desc.info().gears.size() : 0;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetInputDynamicDims(const aclmdlDesc* handle, size_t index, aclmdlIODims* out, size_t count) {
  return use(Function::aclmdlGetInputDynamicDims, handle, out, [&](const ModelDesc& desc) {
    if (index != no_index)
      return fail_value("aclmdlGetInputDynamicDims", std::to_string(index), "index", "it must be (size_t)-1");
    const ModelInfo& info = desc.info();
    const std::size_t gears = info.shapes == Shapes::dims ? info.gears.size() : 0;
    if (count < gears)
      return fail_value("aclmdlGetInputDynamicDims", std::to_string(count), "gearCount", "there are more gears");
    for (std::size_t g = 0; g < gears; ++g) {
      // The dims of all inputs one behind the other, static ones included.
      Dims all;
      for (const Dims& dims : info.gears[g].inputs) all.insert(all.end(), dims.begin(), dims.end());
      fill(&out[g], "", "", all);
    }
    return static_cast<int>(ok);
  });
}
