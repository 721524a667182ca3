#include <cstring>

#include "model_run.hpp"

namespace {

using Values = std::vector<float>;

// A model whose input is a picture: 4 x 2 pixels fed, `format` and the rest of the AIPP entry given.
TestModel picture(int format, const std::vector<int64_t>& fed, std::size_t size, const std::string& aipp,
                  const std::string& layout = "NCHW", const std::vector<int64_t>& image = {1, 2, 4, 3}) {
  TestModel model;
  model.program = "aclsim:scale 1";
  model.inputs = {{"x", ACL_UINT8, 1, size, image, fed, {}}};
  model.outputs = {{"node:0:y", 0, 0, 96, {1, 3, 2, 4}, {}, {}}};
  model.parameters =
      "\"inputs\":[{\"name\":\"x\",\"onnx_name\":\"x\",\"onnx_dtype\":0}],\"aipp\":[{\"input\":0,\"mode\":\"static\","
      "\"input_format\":" +
      std::to_string(format) + ",\"src_image_size\":[4,2],\"layout\":\"" + layout + "\"" +
      (aipp.empty() ? "" : "," + aipp) + "}]";
  return model;
}

Values run(const TestModel& model, const std::vector<unsigned char>& bytes, std::size_t floats = 24) {
  Run m(model);
  void* x = m.add(m.in, bytes.size());
  OK(aclrtMemcpy(x, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  void* y = m.add(m.out, floats * 4);
  OK(aclmdlExecute(m.id, m.in, m.out));
  return from_device(y, floats);
}

std::vector<unsigned char> ramp(std::size_t n) {
  std::vector<unsigned char> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(i);
  return out;
}

// BT.601 narrow range, as the vendor's guide prints the matrix.
const char* const csc =
    "\"csc_switch\":true,\"matrix\":[[298,0,409],[298,-100,-208],[298,516,0]],\"input_bias\":[16,128,128]";

}  // namespace

TEST(aipp, planes_mean_and_scale) {
  start();
  const Values out =
      run(picture(ACL_RGB888_U8, {1, 2, 4, 3}, 24, "\"mean\":[1,2,3,0],\"min\":[0.5,0,0,0],\"var_reci\":[2,1,0.5,1]"),
          ramp(24));
  CHECK(out[0] == (0 - 1 - 0.5f) * 2);  // red of the first pixel
  CHECK(out[1] == (3 - 1 - 0.5f) * 2);  // of the second
  CHECK(out[8] == 1 - 2);               // green plane
  CHECK(out[16] == (2 - 3) * 0.5f);     // blue plane
  CHECK(out[23] == (23 - 3) * 0.5f);
}

TEST(aipp, channels_last_and_swapped) {
  start();
  TestModel model = picture(ACL_RGB888_U8, {1, 2, 4, 3}, 24, "\"rbuv_swap_switch\":true", "NHWC");
  model.outputs[0].dims = {1, 2, 4, 3};
  const Values out = run(model, ramp(24));
  CHECK(out[0] == 2 && out[1] == 1 && out[2] == 0 && out[3] == 5);
}

TEST(aipp, four_channels) {
  start();
  Values out = run(picture(ACL_XRGB8888_U8, {1, 2, 4, 4}, 32, "\"ax_swap_switch\":true"), ramp(32));
  CHECK(out[0] == 1 && out[8] == 2 && out[16] == 3 && out[1] == 5);
  out = run(picture(ACL_ARGB8888_U8, {1, 2, 4, 4}, 32, ""), ramp(32));
  CHECK(out[0] == 0 && out[8] == 1);
}

TEST(aipp, yuv_to_rgb) {
  start();
  std::vector<unsigned char> grey(12, 128);
  for (int i = 0; i < 8; ++i) grey[static_cast<std::size_t>(i)] = static_cast<unsigned char>(16 + 20 * i);
  const Values out = run(picture(ACL_YUV420SP_U8, {1, 3, 4, 1}, 12, csc), grey);
  for (std::size_t i = 0; i < 8; ++i) {
    const float expected = static_cast<float>((298 * 20 * static_cast<int>(i)) >> 8);
    CHECK(out[i] == expected && out[8 + i] == expected && out[16 + i] == expected);
  }
  std::vector<unsigned char> red(12, 81);  // y
  for (std::size_t i = 8; i < 12; i += 2) red[i] = 90, red[i + 1] = 240;
  const Values colour = run(picture(ACL_YUV420SP_U8, {1, 3, 4, 1}, 12, csc), red);
  CHECK(colour[0] >= 253 && colour[8] <= 2 && colour[16] <= 2);
  const Values swapped =
      run(picture(ACL_YUV420SP_U8, {1, 3, 4, 1}, 12, std::string(csc) + ",\"rbuv_swap_switch\":true"), red);
  CHECK(swapped[16] >= 253 && swapped[0] <= 60);
}

TEST(aipp, other_yuv_layouts) {
  start();
  std::vector<unsigned char> pairs(16);  // y0 u y1 v
  for (std::size_t i = 0; i < 16; ++i) pairs[i] = static_cast<unsigned char>(i % 4 == 1 ? 7 : i % 4 == 3 ? 9 : i);
  Values out = run(picture(ACL_YUYV_U8, {1, 2, 4, 2}, 16, ""), pairs);
  CHECK(out[1] == 2 && out[8] == 7 && out[16] == 9 && out[9] == 7);
  out = run(picture(ACL_YUV422SP_U8, {1, 4, 4, 1}, 16, ""), ramp(16));
  CHECK(out[0] == 0 && out[8] == 8 && out[16] == 9 && out[12] == 12);
  out = run(picture(ACL_YUV400_U8, {1, 2, 4, 1}, 8, ""), ramp(8));
  CHECK(out[3] == 3 && out[8] == 0);
  out = run(picture(ACL_AYUV444_U8, {1, 2, 4, 4}, 32, "\"ax_swap_switch\":true"), ramp(32));
  CHECK(out[0] == 1);
}

TEST(aipp, half_a_pair_of_pixels) {
  start();
  TestModel model = picture(ACL_YUV420SP_U8, {1, 1, 1, 1}, 1, "", "NCHW", {1, 1, 1, 1});
  model.parameters.replace(model.parameters.find("[4,2]"), 5, "[1,1]");
  model.outputs[0].dims = {1, 1, 1, 1};
  Run m(model);
  m.add(m.in, 1);
  m.add(m.out, 96);
  FAILS(507011, "does not come out even", aclmdlExecute(m.id, m.in, m.out));
}

TEST(aipp, crop_and_padding) {
  start();
  const Values out =
      run(picture(ACL_RGB888_U8, {1, 2, 4, 3}, 24, "\"crop\":[1,0,2,1],\"padding\":[1,1,0,1],\"padding_value\":9"),
          ramp(24));
  CHECK(out[0] == 9 && out[1] == 3 && out[2] == 6 && out[3] == 9 && out[4] == 9);
}

TEST(aipp, rgb_to_yuv) {
  start();
  const Values out =
      run(picture(ACL_RGB888_U8, {1, 2, 4, 3}, 24,
                  "\"csc_switch\":true,\"matrix\":[[256,0,0],[0,0,0],[0,0,0]],\"output_bias\":[0,128,128]"),
          ramp(24));
  CHECK(out[1] == 3 && out[8] == 128 && out[16] == 128);
}

TEST(aipp, does_not_fit) {
  start();
  TestModel model = picture(ACL_RGB888_U8, {1, 2, 4, 3}, 24, "\"crop\":[3,0,2,1]");
  Run m(model);
  m.add(m.in, 24);
  m.add(m.out, 96);
  FAILS(507011, "of a picture of 4x2", aclmdlExecute(m.id, m.in, m.out));
  Run n(picture(5, {1, 2, 4, 3}, 24, ""));
  n.add(n.in, 24);
  n.add(n.out, 96);
  FAILS(507011, "not modelled", aclmdlExecute(n.id, n.in, n.out));
}

TEST(aipp, is_described) {
  start();
  Run m(picture(ACL_YUV420SP_U8, {1, 3, 4, 1}, 12, csc));
  aclmdlInputAippType type = -1;
  std::size_t attached = 0;
  OK(aclmdlGetAippType(m.id, 0, &type, &attached));
  CHECK(type == ACL_DATA_WITH_STATIC_AIPP);
  CODE(100000, aclmdlGetAippType(m.id, 7, &type, &attached));
  CODE(100000, aclmdlGetAippType(m.id, 0, nullptr, &attached));
  CODE(145003, aclmdlGetAippType(99, 0, &type, &attached));
  std::vector<aclAippInfo> info(1);
  OK(aclmdlGetFirstAippInfo(m.id, 0, info.data()));
  CHECK(info[0].inputFormat == ACL_YUV420SP_U8 && info[0].srcImageSizeW == 4 && info[0].matrixR0C2 == 409 &&
        info[0].inputBias0 == 16);
  CODE(100000, aclmdlGetFirstAippInfo(m.id, 0, nullptr));
  CODE(145003, aclmdlGetFirstAippInfo(99, 0, info.data()));
  Run plain(plain_model());
  OK(aclmdlGetAippType(plain.id, 0, &type, &attached));
  CHECK(type == ACL_DATA_WITHOUT_AIPP);
  FAILS(100038, "no static AIPP", aclmdlGetFirstAippInfo(plain.id, 0, info.data()));
  aclmdlDesc* desc = aclmdlCreateDesc();
  OK(aclmdlGetDesc(desc, m.id));
  aclmdlIODims dims, fed;
  OK(aclmdlGetInputDims(desc, 0, &dims));
  OK(aclmdlGetInputDimsV2(desc, 0, &fed));
  CHECK(dims.dims[3] == 3 && fed.dims[1] == 3 && fed.dims[3] == 1);
  OK(aclmdlDestroyDesc(desc));
}

TEST(aipp, parameter_sets) {
  start();
  CHECK(aclmdlCreateAIPP(0) == nullptr && aclmdlCreateAIPP(1000) == nullptr);
  aclmdlAIPP* aipp = aclmdlCreateAIPP(2);
  OK(aclmdlSetAIPPInputFormat(aipp, ACL_RGB888_U8));
  CODE(100000, aclmdlSetAIPPInputFormat(aipp, 99));
  CODE(100000, aclmdlSetAIPPInputFormat(nullptr, ACL_RGB888_U8));
  OK(aclmdlSetAIPPCscParams(aipp, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  CODE(100000, aclmdlSetAIPPCscParams(aipp, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  OK(aclmdlSetAIPPRbuvSwapSwitch(aipp, 1));
  CODE(100000, aclmdlSetAIPPRbuvSwapSwitch(aipp, 3));
  OK(aclmdlSetAIPPAxSwapSwitch(aipp, 0));
  CODE(100000, aclmdlSetAIPPAxSwapSwitch(aipp, -1));
  OK(aclmdlSetAIPPSrcImageSize(aipp, 224, 224));
  CODE(100000, aclmdlSetAIPPSrcImageSize(aipp, 0, 224));
  OK(aclmdlSetAIPPScfParams(aipp, 0, 1, 1, 1, 1, 1));
  CODE(100000, aclmdlSetAIPPScfParams(aipp, 0, 1, 1, 1, 1, 2));
  OK(aclmdlSetAIPPCropParams(aipp, 1, 0, 0, 4, 4, 0));
  CODE(100000, aclmdlSetAIPPCropParams(aipp, 1, -1, 0, 4, 4, 0));
  OK(aclmdlSetAIPPPaddingParams(aipp, 1, 0, 0, 0, 0, 0));
  CODE(100000, aclmdlSetAIPPPaddingParams(aipp, 1, 0, 0, 0, -1, 0));
  OK(aclmdlSetAIPPDtcPixelMean(aipp, 1, 1, 1, 0, 0));
  CODE(100000, aclmdlSetAIPPDtcPixelMean(aipp, 1, 1, 1, 0, 2));
  OK(aclmdlSetAIPPDtcPixelMin(aipp, 1, 1, 1, 0, 0));
  CODE(100000, aclmdlSetAIPPDtcPixelMin(aipp, 1, 1, 1, 0, 2));
  OK(aclmdlSetAIPPPixelVarReci(aipp, 1, 1, 1, 0, 1));
  CODE(100000, aclmdlSetAIPPPixelVarReci(aipp, 1, 1, 1, 0, 2));
  Run m(plain_model());
  FAILS(145015, "no dynamic AIPP", aclmdlSetInputAIPP(m.id, m.in, 0, aipp));
  CODE(145015, aclmdlSetAIPPByInputIndex(m.id, m.in, 0, aipp));
  CODE(145003, aclmdlSetInputAIPP(99, m.in, 0, aipp));
  CODE(100000, aclmdlSetInputAIPP(m.id, nullptr, 0, aipp));
  CODE(100000, aclmdlSetAIPPByInputIndex(m.id, m.in, 0, nullptr));
  OK(aclmdlDestroyAIPP(aipp));
  CODE(200005, aclmdlDestroyAIPP(aipp));
  CODE(100000, aclmdlDestroyAIPP(nullptr));
}
