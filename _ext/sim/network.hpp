// What computes: onnxruntime, or the built-in programs of a line or two. Everything else sees this interface.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model_info.hpp"

namespace aclsim {

struct Tensor {
  std::string name;  // the network's own name; empty: by position
  int type = -1;     // aclDataType
  Dims dims;
  void* data = nullptr;  // an output's null: the network allocates it into `own`
  std::size_t bytes = 0;
  std::vector<unsigned char> own;
};

class Network {
 public:
  virtual ~Network() = default;
  // Computes; outputs with data are written there, with their dims as given. Thread-safe. False with a reason.
  virtual bool run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, std::string& reason) = 0;
  // aclDataType of an input or output, found by name or else by position; -1 when the network does not say.
  virtual int type_of(bool input, const std::string& name, std::size_t index) const {
    (void)input, (void)name, (void)index;
    return -1;
  }
  // Number of inputs or outputs; -1 when the network takes any.
  virtual int count(bool input) const {
    (void)input;
    return -1;
  }
};

// Null with a reason. `path` is used when there are no bytes.
std::shared_ptr<Network> open_network(std::string_view bytes, const std::string& path, std::string& reason);

// Programs for tests that have no onnxruntime: "aclsim:scale 2 offset 1" makes output i of input i (of the last
// one when there are fewer), element by element in float, cut or repeated to the output's size; other types are
// copied. "aclsim:fail" fails, "aclsim:wait 5" takes five milliseconds more.
std::shared_ptr<Network> open_plain(std::string_view text, std::string& reason);
std::shared_ptr<Network> open_onnx(std::string_view bytes, const std::string& path, std::string& reason);
// Version of the onnxruntime in use; empty before its first model.
std::string onnxruntime_version();

}  // namespace aclsim
