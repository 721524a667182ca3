// AIPP: asking about static AIPP, and the parameter set of dynamic AIPP.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "model_table.hpp"

using namespace aclsim;

namespace {

// aclmdlAIPP. Models with dynamic AIPP are refused at load, so the values are checked and kept, never used.
struct AippSet {
  static constexpr Kind kind = Kind::aipp;
  std::uint64_t batch = 0;
};

template <typename Check>
int set(Function function, const void* handle, Check check) {
  return run(function, [&] {
    const Lock lock(big_lock());
    const AippSet* aipp = HandleTable::get().peek<AippSet>(handle);
    if (aipp == nullptr)
      return handle == nullptr ? fail_null(name_of(function), "aippParmsSet")
                               : fail_handle(name_of(function), "AIPP set", handle);
    const char* reason = check(*aipp);
    return reason == nullptr ? 0 : fail_value(name_of(function), "given", "an argument", reason);
  });
}

constexpr const char* not_a_switch = "a switch is neither 0 nor 1";
constexpr const char* no_batch = "batchIndex is not below the set's batch size";
bool is_switch(int8_t value) { return value == 0 || value == 1; }

// The static AIPP of a model's input; null and a recorded code otherwise. Under the lock.
const AippInfo* static_aipp(const char* function, std::uint32_t id, std::size_t index, std::shared_ptr<Model>& model,
                            int& code) {
  model = ModelTable::get().find(id);
  code = 0;
  if (model == nullptr)
    code = fail(ge_model_id_invalid, "E13014", "%s failed: there is no loaded model %u.", function, id);
  else if (index >= model->info().inputs.size())
    code = fail_value(function, std::to_string(index), "index", "the model has fewer inputs");
  return code != 0 ? nullptr : model->info().aipp_of(index);
}

int apply_set(Function function, std::uint32_t id, const void* dataset, const void* handle) {
  return run(function, [&] {
    if (dataset == nullptr || handle == nullptr)
      return fail_null(name_of(function), dataset == nullptr ? "dataset" : "aippParmsSet");
    const Lock lock(big_lock());
    if (ModelTable::get().find(id) == nullptr)
      return fail(ge_model_id_invalid, "E13014", "%s failed: there is no loaded model %u.", name_of(function), id);
    return fail(ge_aipp_not_exist, "E19999", "%s failed: model %u has no dynamic AIPP.", name_of(function), id);
  });
}

}  // namespace

extern "C" aclmdlAIPP* aclmdlCreateAIPP(uint64_t batch) {
  return ask(Function::aclmdlCreateAIPP, static_cast<aclmdlAIPP*>(nullptr), [&]() -> aclmdlAIPP* {
    if (batch == 0 || batch > 127) {
      fail_value("aclmdlCreateAIPP", std::to_string(batch), "batchSize", "it is not within 1 to 127");
      return nullptr;
    }
    const Lock lock(big_lock());
    auto aipp = std::make_shared<AippSet>();
    aipp->batch = batch;
    return reinterpret_cast<aclmdlAIPP*>(HandleTable::get().insert(std::move(aipp)));
  });
}

extern "C" aclError aclmdlDestroyAIPP(const aclmdlAIPP* handle) {
  return run(Function::aclmdlDestroyAIPP, [&] {
    const Lock lock(big_lock());
    if (handle == nullptr) return fail_null("aclmdlDestroyAIPP", "aippParmsSet");
    if (HandleTable::get().peek<AippSet>(handle) == nullptr)
      return fail_handle("aclmdlDestroyAIPP", "AIPP set", handle);
    HandleTable::get().erase(handle);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlSetAIPPInputFormat(aclmdlAIPP* handle, aclAippInputFormat format) {
  return set(Function::aclmdlSetAIPPInputFormat, handle, [&](const AippSet&) -> const char* {
    return format >= ACL_YUV420SP_U8 && format <= ACL_AYUV444_U8 ? nullptr : "it is no input format";
  });
}

extern "C" aclError aclmdlSetAIPPCscParams(aclmdlAIPP* handle, int8_t on, int16_t, int16_t, int16_t, int16_t, int16_t,
                                           int16_t, int16_t, int16_t, int16_t, uint8_t, uint8_t, uint8_t, uint8_t,
                                           uint8_t, uint8_t) {
  return set(Function::aclmdlSetAIPPCscParams, handle,
             [&](const AippSet&) { return is_switch(on) ? nullptr : not_a_switch; });
}

extern "C" aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP* handle, int8_t on) {
  return set(Function::aclmdlSetAIPPRbuvSwapSwitch, handle,
             [&](const AippSet&) { return is_switch(on) ? nullptr : not_a_switch; });
}

extern "C" aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP* handle, int8_t on) {
  return set(Function::aclmdlSetAIPPAxSwapSwitch, handle,
             [&](const AippSet&) { return is_switch(on) ? nullptr : not_a_switch; });
}

extern "C" aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP* handle, int32_t width, int32_t height) {
  return set(Function::aclmdlSetAIPPSrcImageSize, handle, [&](const AippSet&) -> const char* {
    return width >= 2 && width <= 4096 && height >= 1 && height <= 4096 ? nullptr
                                                                        : "the size is not within 2x1 to 4096x4096";
  });
}

extern "C" aclError aclmdlSetAIPPScfParams(aclmdlAIPP* handle, int8_t on, int32_t, int32_t, int32_t, int32_t,
                                           uint64_t batch) {
  return set(Function::aclmdlSetAIPPScfParams, handle, [&](const AippSet& a) {
    return !is_switch(on) ? not_a_switch : batch >= a.batch ? no_batch : nullptr;
  });
}

extern "C" aclError aclmdlSetAIPPCropParams(aclmdlAIPP* handle, int8_t on, int32_t x, int32_t y, int32_t w, int32_t h,
                                            uint64_t batch) {
  return set(Function::aclmdlSetAIPPCropParams, handle, [&](const AippSet& a) {
    return !is_switch(on)                     ? not_a_switch
           : batch >= a.batch                 ? no_batch
           : x < 0 || y < 0 || w < 0 || h < 0 ? "a size is negative"
                                              : nullptr;
  });
}

extern "C" aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP* handle, int8_t on, int32_t top, int32_t bottom, int32_t left,
                                               int32_t right, uint64_t batch) {
  return set(Function::aclmdlSetAIPPPaddingParams, handle, [&](const AippSet& a) {
    return !is_switch(on)                                   ? not_a_switch
           : batch >= a.batch                               ? no_batch
           : top < 0 || bottom < 0 || left < 0 || right < 0 ? "a size is negative"
                                                            : nullptr;
  });
}

extern "C" aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP* handle, int16_t, int16_t, int16_t, int16_t, uint64_t batch) {
  return set(Function::aclmdlSetAIPPDtcPixelMean, handle,
             [&](const AippSet& a) { return batch >= a.batch ? no_batch : nullptr; });
}

extern "C" aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP* handle, float, float, float, float, uint64_t batch) {
  return set(Function::aclmdlSetAIPPDtcPixelMin, handle,
             [&](const AippSet& a) { return batch >= a.batch ? no_batch : nullptr; });
}

extern "C" aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP* handle, float, float, float, float, uint64_t batch) {
  return set(Function::aclmdlSetAIPPPixelVarReci, handle,
             [&](const AippSet& a) { return batch >= a.batch ? no_batch : nullptr; });
}

extern "C" aclError aclmdlSetInputAIPP(uint32_t id, aclmdlDataset* dataset, size_t, const aclmdlAIPP* handle) {
  return apply_set(Function::aclmdlSetInputAIPP, id, dataset, handle);
}

extern "C" aclError aclmdlSetAIPPByInputIndex(uint32_t id, aclmdlDataset* dataset, size_t, const aclmdlAIPP* handle) {
  return apply_set(Function::aclmdlSetAIPPByInputIndex, id, dataset, handle);
}

extern "C" aclError aclmdlGetAippType(uint32_t id, size_t index, aclmdlInputAippType* type, size_t* attached) {
  return run(Function::aclmdlGetAippType, [&] {
    if (type == nullptr || attached == nullptr)
      return fail_null("aclmdlGetAippType", type == nullptr ? "type" : "dynamicAttachedDataIndex");
    const Lock lock(big_lock());
    int code = 0;
    std::shared_ptr<Model> model;
    const AippInfo* aipp = static_aipp("aclmdlGetAippType", id, index, model, code);
    if (code != 0) return code;
    *type = aipp != nullptr ? ACL_DATA_WITH_STATIC_AIPP : ACL_DATA_WITHOUT_AIPP;
    *attached = 0xFFFFFFFF;  // of dynamic AIPP only
    return code;
  });
}

extern "C" aclError aclmdlGetFirstAippInfo(uint32_t id, size_t index, aclAippInfo* out) {
  return run(Function::aclmdlGetFirstAippInfo, [&] {
    if (out == nullptr) return fail_null("aclmdlGetFirstAippInfo", "aippInfo");
    const Lock lock(big_lock());
    int code = 0;
    std::shared_ptr<Model> model;
    const AippInfo* aipp = static_aipp("aclmdlGetFirstAippInfo", id, index, model, code);
    if (code != 0) return code;
    if (aipp == nullptr)
      return fail(not_static_aipp, "EH0005", "aclmdlGetFirstAippInfo failed: input %zu has no static AIPP.", index);
    const TensorInfo& tensor = model->info().inputs[index];
    std::memset(out, 0, sizeof *out);
    out->inputFormat = aipp->format;
    out->srcImageSizeW = static_cast<std::int32_t>(aipp->src_w),
    out->srcImageSizeH = static_cast<std::int32_t>(aipp->src_h);
    out->cropSwitch = aipp->crop;
    out->loadStartPosW = static_cast<std::int32_t>(aipp->crop_x),
    out->loadStartPosH = static_cast<std::int32_t>(aipp->crop_y);
    out->cropSizeW = static_cast<std::int32_t>(aipp->crop_w), out->cropSizeH = static_cast<std::int32_t>(aipp->crop_h);
    out->paddingSwitch = aipp->padding;
    out->leftPaddingSize = static_cast<std::int32_t>(aipp->pad_left),
    out->rightPaddingSize = static_cast<std::int32_t>(aipp->pad_right);
    out->topPaddingSize = static_cast<std::int32_t>(aipp->pad_top),
    out->bottomPaddingSize = static_cast<std::int32_t>(aipp->pad_bottom);
    out->cscSwitch = aipp->csc, out->rbuvSwapSwitch = aipp->swap_rb, out->axSwapSwitch = aipp->swap_ax;
    std::int32_t* matrix[9] = {&out->matrixR0C0, &out->matrixR0C1, &out->matrixR0C2, &out->matrixR1C0, &out->matrixR1C1,
                               &out->matrixR1C2, &out->matrixR2C0, &out->matrixR2C1, &out->matrixR2C2};
    for (int i = 0; i < 9; ++i) *matrix[i] = aipp->matrix[i / 3][i % 3];
    out->outputBias0 = aipp->output_bias[0], out->outputBias1 = aipp->output_bias[1],
    out->outputBias2 = aipp->output_bias[2];
    out->inputBias0 = aipp->input_bias[0], out->inputBias1 = aipp->input_bias[1], out->inputBias2 = aipp->input_bias[2];
    out->meanChn0 = static_cast<std::int32_t>(aipp->mean[0]), out->meanChn1 = static_cast<std::int32_t>(aipp->mean[1]),
    out->meanChn2 = static_cast<std::int32_t>(aipp->mean[2]), out->meanChn3 = static_cast<std::int32_t>(aipp->mean[3]);
    out->minChn0 = aipp->min[0], out->minChn1 = aipp->min[1], out->minChn2 = aipp->min[2], out->minChn3 = aipp->min[3];
    out->varReciChn0 = aipp->var_reci[0], out->varReciChn1 = aipp->var_reci[1], out->varReciChn2 = aipp->var_reci[2],
    out->varReciChn3 = aipp->var_reci[3];
    out->srcFormat = aipp->nhwc ? ACL_FORMAT_NHWC : ACL_FORMAT_NCHW;
    out->srcDatatype = tensor.onnx_type;
    out->srcDimNum = tensor.dims_v2.size();
    out->shapeCount = 1;
    aclAippDims& dims = out->outDims[0];
    const auto copy = [](aclmdlIODims& to, const Dims& from) {
      to.dimCount = std::min<std::size_t>(from.size(), ACL_MAX_DIM_CNT);
      std::copy_n(from.begin(), to.dimCount, to.dims);
    };
    copy(dims.srcDims, tensor.dims_v2);
    dims.srcSize = tensor.size;
    copy(dims.aippOutdims, tensor.dims);
    dims.aippOutSize = elements(tensor.dims);
    return code;
  });
}
