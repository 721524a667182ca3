// Static AIPP: from the bytes of a picture to the numbers that the network gets.
#pragma once
#include <string>
#include <vector>

#include "model_info.hpp"

namespace aclsim {

// Bytes of one fed picture; 0 for a format that is not modelled.
std::size_t aipp_source_bytes(int format, std::int64_t width, std::int64_t height);

// Converts `batch` pictures. `dims` are those of the network's input (NCHW or NHWC), `out` gets its values as
// float, or as bytes when `as_bytes`. False with a reason when the sizes do not fit together.
bool apply_aipp(const AippInfo& aipp, const unsigned char* source, std::size_t source_bytes, const Dims& dims,
                bool as_bytes, std::vector<unsigned char>& out, std::string& reason);

}  // namespace aclsim
