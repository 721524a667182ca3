#include <cmath>
#include <cstring>

#include "check.hpp"

TEST(data, buffers) {
  int value = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(&value, (std::size_t{1} << 32) + 4);
  CHECK(aclGetDataBufferAddr(buffer) == &value);
  CHECK(aclGetDataBufferSizeV2(buffer) == (std::size_t{1} << 32) + 4);
  CHECK(aclGetDataBufferSize(buffer) == 4);  // 32 bits
  OK(aclUpdateDataBuffer(buffer, nullptr, 0));
  CHECK(aclGetDataBufferAddr(buffer) == nullptr && aclGetDataBufferSizeV2(buffer) == 0);
  CODE(100000, aclUpdateDataBuffer(nullptr, nullptr, 0));
  OK(aclDestroyDataBuffer(buffer));
  FAILS(200005, "destroyed", aclDestroyDataBuffer(buffer));
  CODE(100000, aclDestroyDataBuffer(nullptr));
  CODE(200005, aclUpdateDataBuffer(buffer, &value, 4));
  CHECK(aclGetDataBufferAddr(buffer) == nullptr && aclGetDataBufferSizeV2(nullptr) == 0 &&
        aclGetDataBufferSize(nullptr) == 0);
}

TEST(data, element_types) {
  CHECK(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_FLOAT16) == 2 && aclDataTypeSize(ACL_BOOL) == 1);
  CHECK(aclDataTypeSize(ACL_COMPLEX128) == 16 && aclDataTypeSize(ACL_INT64) == 8 && aclDataTypeSize(ACL_BF16) == 2);
  CHECK(aclDataTypeSize(ACL_INT4) == 0 && aclDataTypeSize(-1) == 0 && aclDataTypeSize(99) == 0);
}

TEST(data, half_precision) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    const int exponent = (bits >> 10) & 31, mantissa = bits & 1023, sign = bits & 0x8000;
    float expected = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::ldexp(1.0f + static_cast<float>(mantissa) / 1024, exponent - 15);
    if (sign != 0) expected = -expected;
    if (exponent == 31) {
      CHECK(mantissa == 0 ? std::isinf(value) : std::isnan(value));
    } else {
      CHECK(value == expected);
      CHECK(aclFloatToFloat16(value) == bits);
    }
  }
  CHECK(aclFloatToFloat16(1.0f + 1.0f / 2048) == 0x3C00);  // a tie goes to the even neighbour
  CHECK(aclFloatToFloat16(1.0f + 3.0f / 2048) == 0x3C02);
  CHECK(aclFloatToFloat16(1e9f) == 0x7BFF && aclFloatToFloat16(-1e9f) == 0xFBFF);  // saturates
  CHECK(aclFloatToFloat16(1e-9f) == 0);
}

TEST(data, tensor_descriptions) {
  const int64_t dims[] = {2, 3, -1};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  CHECK(aclGetTensorDescType(desc) == ACL_FLOAT && aclGetTensorDescFormat(desc) == ACL_FORMAT_ND);
  CHECK(aclGetTensorDescNumDims(desc) == 2 && aclGetTensorDescElementCount(desc) == 6 &&
        aclGetTensorDescSize(desc) == 24);
  int64_t dim = 0;
  OK(aclGetTensorDescDimV2(desc, 1, &dim));
  CHECK(dim == 3 && aclGetTensorDescDim(desc, 0) == 2 && aclGetTensorDescDim(desc, 9) == -1);
  CODE(100000, aclGetTensorDescDimV2(desc, 2, &dim));
  CODE(100000, aclGetTensorDescDimV2(desc, 0, nullptr));
  CODE(100000, aclGetTensorDescDimV2(nullptr, 0, &dim));
  aclSetTensorDescName(desc, "x");
  CHECK(std::string(aclGetTensorDescName(desc)) == "x");
  int64_t ranges[2][2] = {{1, 2}, {3, -1}};
  OK(aclSetTensorShapeRange(desc, 2, ranges));
  CODE(100000, aclSetTensorShapeRange(desc, 2, nullptr));
  CODE(100000, aclSetTensorShapeRange(desc, 1000, ranges));
  int64_t range[2] = {0, 0};
  OK(aclGetTensorDescDimRange(desc, 1, 2, range));
  CHECK(range[0] == 3 && range[1] == -1);
  CODE(100000, aclGetTensorDescDimRange(desc, 2, 2, range));
  CODE(100000, aclGetTensorDescDimRange(desc, 0, 2, nullptr));
  CHECK(aclGetTensorDescByIndex(desc, 0) == desc && aclGetTensorDescByIndex(desc, 1) == nullptr);
  CHECK(aclGetTensorDescAddress(desc) == nullptr);
  aclDestroyTensorDesc(desc);
  CHECK(aclGetTensorDescType(desc) == ACL_DT_UNDEFINED && aclGetTensorDescNumDims(desc) == 0);
  CODE(200005, aclGetTensorDescDimV2(desc, 0, &dim));
  aclDestroyTensorDesc(nullptr);
  CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND) == nullptr);
  CHECK(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND) == nullptr);
  aclTensorDesc* open = aclCreateTensorDesc(ACL_FLOAT, 3, dims, ACL_FORMAT_ND);
  CHECK(aclGetTensorDescElementCount(open) == 0 && aclGetTensorDescSize(open) == 0);
  aclDestroyTensorDesc(open);
}

TEST(data, datasets) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 0);
  CODE(100000, aclmdlAddDatasetBuffer(nullptr, buffer));
  CODE(100000, aclmdlAddDatasetBuffer(dataset, nullptr));
  OK(aclmdlAddDatasetBuffer(dataset, buffer));
  CHECK(aclmdlGetDatasetNumBuffers(dataset) == 1 && aclmdlGetDatasetNumBuffers(nullptr) == 0);
  CHECK(aclmdlGetDatasetBuffer(dataset, 0) == buffer && aclmdlGetDatasetBuffer(dataset, 1) == nullptr);
  CHECK(aclmdlGetDatasetBuffer(nullptr, 0) == nullptr);
  const int64_t dims[] = {2};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  CHECK(aclmdlGetDatasetTensorDesc(dataset, 0) == nullptr);
  OK(aclmdlSetDatasetTensorDesc(dataset, desc, 0));
  CODE(100000, aclmdlSetDatasetTensorDesc(dataset, desc, 1));
  CODE(100000, aclmdlSetDatasetTensorDesc(nullptr, desc, 0));
  aclDestroyTensorDesc(desc);  // it was copied
  CODE(200005, aclmdlSetDatasetTensorDesc(dataset, desc, 0));
  const aclTensorDesc* own = aclmdlGetDatasetTensorDesc(dataset, 0);
  CHECK(own != nullptr && aclGetTensorDescSize(own) == 8);
  CHECK(aclmdlGetDatasetTensorDesc(dataset, 5) == nullptr);
  OK(aclmdlDestroyDataset(dataset));
  CHECK(aclGetTensorDescSize(own) == 0);  // went with the dataset
  CODE(200005, aclmdlDestroyDataset(dataset));
  CODE(100000, aclmdlDestroyDataset(nullptr));
  CHECK(aclGetDataBufferSizeV2(buffer) == 0);
  OK(aclDestroyDataBuffer(buffer));  // did not go with it
}
