#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "../acl_types.h"
#include "clock.hpp"
#include "dtypes.hpp"
#include "network.hpp"

namespace aclsim {
namespace {

class PlainNetwork : public Network {
 public:
  float scale = 1, offset = 0;
  std::uint64_t wait_ms = 0;
  bool fails = false;

  bool run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, std::string& reason) override {
    if (fails) {
      reason = "the program says fail";
      return false;
    }
    if (inputs.empty()) {
      reason = "the program has no input to work on";
      return false;
    }
    if (wait_ms != 0) Clock::get().sleep(wait_ms * 1'000'000);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& in = inputs[std::min(i, inputs.size() - 1)];
      Tensor& out = outputs[i];
      if (out.data == nullptr) {
        out.dims = in.dims;
        out.bytes = elements(in.dims) * element_size(out.type);
        out.own.resize(out.bytes);
      }
      compute(in, out);
    }
    return true;
  }

 private:
  void compute(const Tensor& in, Tensor& out) const {
    auto* to = static_cast<unsigned char*>(out.data != nullptr ? out.data : out.own.data());
    const auto* from = static_cast<const unsigned char*>(in.data);
    const std::size_t size = out.data != nullptr ? elements(out.dims) * element_size(out.type) : out.bytes;
    if (in.bytes == 0 || size == 0) return;
    if (in.type != ACL_FLOAT || out.type != ACL_FLOAT) {
      for (std::size_t k = 0; k < size; ++k) to[k] = from[k % in.bytes];
      return;
    }
    const std::size_t available = in.bytes / sizeof(float);
    for (std::size_t k = 0; k < size / sizeof(float); ++k) {
      float value;
      std::memcpy(&value, from + k % available * sizeof(float), sizeof value);
      value = value * scale + offset;
      std::memcpy(to + k * sizeof(float), &value, sizeof value);
    }
  }
};

}  // namespace

std::shared_ptr<Network> open_plain(std::string_view text, std::string& reason) {
  auto network = std::make_shared<PlainNetwork>();
  std::istringstream words{std::string(text.substr(text.find(':') + 1))};
  std::string word;
  while (words >> word) {
    bool good = true;
    if (word == "scale")
      good = static_cast<bool>(words >> network->scale);
    else if (word == "offset")
      good = static_cast<bool>(words >> network->offset);
    else if (word == "wait")
      good = static_cast<bool>(words >> network->wait_ms);
    else if (word == "fail")
      network->fails = true;
    else
      good = false;
    if (!good) {
      reason = "\"" + word + "\" is no word of the simulator's built-in programs, or its number is missing";
      return nullptr;
    }
  }
  return network;
}

std::shared_ptr<Network> open_network(std::string_view bytes, const std::string& path, std::string& reason) {
  constexpr std::string_view mark = "aclsim:";
  if (bytes.substr(0, mark.size()) == mark) return open_plain(bytes, reason);
  return open_onnx(bytes, path, reason);
}

}  // namespace aclsim
