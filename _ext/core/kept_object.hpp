// An object of the layer above that must outlive something in here. The core knows nothing of it but how to let go.
#pragma once
#include <memory>

namespace ascend_infer {

class KeptObject {
 public:
  KeptObject(void *object, void (*let_go)(void *)) noexcept : object_(object), let_go_(let_go) {}
  ~KeptObject() { let_go_(object_); }
  KeptObject(const KeptObject &) = delete;
  KeptObject &operator=(const KeptObject &) = delete;

 private:
  void *object_;
  void (*let_go_)(void *);  // may take the interpreter's lock: never called under one of ours
};

}  // namespace ascend_infer
