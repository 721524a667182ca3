#include "dtypes.hpp"

#include <cstring>

#include "../acl_types.h"

namespace aclsim {

std::size_t element_size(int type) {
  switch (type) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_BF16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

int onnx_type(int type) {
  switch (type) {
    case ACL_FLOAT:
      return 1;
    case ACL_UINT8:
      return 2;
    case ACL_INT8:
      return 3;
    case ACL_UINT16:
      return 4;
    case ACL_INT16:
      return 5;
    case ACL_INT32:
      return 6;
    case ACL_INT64:
      return 7;
    case ACL_BOOL:
      return 9;
    case ACL_FLOAT16:
      return 10;
    case ACL_DOUBLE:
      return 11;
    case ACL_UINT32:
      return 12;
    case ACL_UINT64:
      return 13;
    case ACL_BF16:
      return 16;
    default:
      return 0;
  }
}

const char* uncomputed_type(int type) {
  switch (type) {
    case ACL_STRING:
      return "text (ACL_STRING)";
    case ACL_INT4:
      return "INT4";
    case ACL_UINT1:
      return "UINT1";
    case ACL_COMPLEX32:
      return "COMPLEX32";
    case ACL_COMPLEX64:
      return "COMPLEX64";
    case ACL_COMPLEX128:
      return "COMPLEX128";
    case ACL_HIFLOAT8:
      return "HIFLOAT8";
    case ACL_FLOAT8_E5M2:
      return "FP8_E5M2";
    case ACL_FLOAT8_E4M3FN:
      return "FP8_E4M3FN";
    case ACL_FLOAT8_E8M0:
      return "FP8_E8M0";
    default:
      return nullptr;
  }
}

int acl_type(int wanted) {
  for (int type = ACL_FLOAT; type <= ACL_BF16; ++type)
    if (wanted != 0 && onnx_type(type) == wanted) return type;
  return -1;
}

float half_to_float(std::uint16_t value) {
  const std::uint32_t sign = std::uint32_t{value & 0x8000u} << 16;
  const std::uint32_t exponent = (value >> 10) & 31u;
  std::uint32_t mantissa = value & 0x3FFu;
  std::uint32_t bits = 0;
  if (exponent == 31) {
    bits = sign | 0x7F800000u | (mantissa << 13);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else if (mantissa != 0) {
    std::uint32_t shift = 113;
    while ((mantissa & 0x400u) == 0) {
      mantissa <<= 1;
      --shift;
    }
    bits = sign | (shift << 23) | ((mantissa & 0x3FFu) << 13);
  } else {
    bits = sign;
  }
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

std::uint16_t float_to_half(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  std::uint32_t mantissa, half;
  int shift;
  if (magnitude >= 0x38800000u) {
    half = (magnitude - 0x38000000u) >> 13;
    mantissa = magnitude;
    shift = 13;
  } else {
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;
    mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    shift = static_cast<int>(126 - exponent);
    half = mantissa >> shift;
  }
  const std::uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
  if (rest > middle || (rest == middle && (half & 1u) != 0)) ++half;
  return static_cast<std::uint16_t>(sign | half);
}

void round_through_half(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = half_to_float(float_to_half(values[i]));
}

}  // namespace aclsim
