// What a call into onnxruntime came to.
#pragma once
#include <new>
#include <string>
#include <utility>

namespace ascend_infer {

class [[nodiscard]] OrtFailure {
 public:
  OrtFailure() noexcept = default;
  OrtFailure(int code, std::string text) noexcept : code_(code), text_(std::move(text)) {}
  // The text is lost where there is no memory for it; the code is not.
  static OrtFailure of(int code, const char *text) noexcept {
    OrtFailure failure;
    failure.code_ = code;
    try {
      failure.text_ = text;
    } catch (const std::bad_alloc &) {
    }
    return failure;
  }
  static OrtFailure no_memory() noexcept { return of(no_host_memory, ""); }

  bool ok() const noexcept { return code_ == 0; }
  int code() const noexcept { return code_; }  // an OrtErrorCode, or one of those below
  const std::string &text() const noexcept { return text_; }

  // A run that found its output to have another shape than the memory it was given. Which code that has differs between
  // versions: 2 in the newer ones.
  bool of_shape() const noexcept {
    return code_ == invalid_argument || text_.find("shape verification failed") != std::string::npos;
  }

  static constexpr int no_host_memory = -1;  // for our own bookkeeping
  static constexpr int forked = -2;          // the session is a parent process's
  static constexpr int no_library = -3;      // the file is no onnxruntime that we can use

 private:
  static constexpr int invalid_argument = 2;

  int code_ = 0;
  std::string text_;
};

}  // namespace ascend_infer
