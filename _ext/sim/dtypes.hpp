// Element types as ACL numbers them, and half precision.
#pragma once
#include <cstddef>
#include <cstdint>

namespace aclsim {

// Bytes an element takes; 0 for sub-byte and unknown types.
std::size_t element_size(int acl_type);
// ONNX's TensorProto.DataType number; 0 when ONNX has none.
int onnx_type(int acl_type);
// The other way round; -1 when ACL has none.
int acl_type(int onnx_type);
// The name of a type that ACL has and ONNX or the simulator has not; null for others and for unknown ones.
const char* uncomputed_type(int acl_type);

float half_to_float(std::uint16_t value);
std::uint16_t float_to_half(float value);  // to nearest even, overflow to infinity
void round_through_half(float* values, std::size_t count);

}  // namespace aclsim
