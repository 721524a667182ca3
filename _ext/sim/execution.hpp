// One run of a model: what was checked when it was asked for, and what happens when the card comes to it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "copy.hpp"
#include "dataset.hpp"
#include "model_table.hpp"
#include "stream.hpp"

namespace aclsim {

class Execution {
 public:
  // Checks arguments as the real calls do; null and a recorded code otherwise.
  static std::unique_ptr<Execution> prepare(const char* function, std::uint32_t model, const void* inputs,
                                            void* outputs, bool sync, int& code);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Computes. `stream` is null for a synchronous run on the calling thread; `limit` is the time that may take.
  int perform(Stream* stream, Lock& lock, std::string& text, Nanoseconds limit = UINT64_MAX);

  bool dynamic_shapes() const { return model_->info().shapes == Shapes::dynamic; }
  // Bytes that a run with dynamic shapes asks an allocator for: as much as its inputs have.
  std::size_t workspace() const;
  Model& model() const { return *model_; }
  Nanoseconds delay = 0;  // asked for by the fault plan

 private:
  struct Buffer {
    Address address = 0;
    std::size_t size = 0;  // as the program said; 0 with address 0: to be allocated
    Dims dims;             // of true dynamic shapes
    End end;               // while it runs
  };

  Execution() = default;
  int check_inputs(const char* function, const Dataset& inputs);
  int check_outputs(const char* function, const Dataset& outputs);
  const GearInfo* read_gear(std::string& text);
  int hold_all(const GearInfo* gear, std::string& text);
  bool let_go_all();
  Nanoseconds cost(const GearInfo* gear) const;
  bool compute(const GearInfo* gear, std::vector<Tensor>& results, std::string& text);
  int deliver(std::vector<Tensor>& results, std::string& text);
  std::size_t need(bool input, std::size_t index, const GearInfo* gear) const;

  std::shared_ptr<Model> model_;
  std::vector<Buffer> inputs_, outputs_;
  void* output_dataset_ = nullptr;
  bool sync_ = false, corrupted_ = false;
};

class ExecuteTask : public Task {
 public:
  explicit ExecuteTask(std::unique_ptr<Execution> execution) : execution_(std::move(execution)) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    return execution_->perform(&stream, lock, text);
  }
  void drop() override { execution_.reset(); }
  bool anywhere() const override { return true; }

 private:
  std::unique_ptr<Execution> execution_;
};

}  // namespace aclsim
