# open_acl_instance: from a model's file to an AclInstance.
from core_acl cimport InstanceOptions, KeptObject, open_instance
from cpython.ref cimport Py_INCREF

from ascend_infer.errors import ModelLoadError


def open_acl_instance(
    AclDevice device not None,
    MemoryPool device_pool not None,
    MemoryPool pinned_pool not None,
    path,
    *,
    str name,
    Py_ssize_t slots=2,
    work_bytes=0,
    Block weights=None,
):
    if slots < 1:
        raise InvalidOptionError(f"slots: got {slots}, expected 1 or more", option="slots", got=slots)
    cdef InstanceOptions options
    options.path = os.fsencode(path)
    options.name = name.encode("utf-8", "replace")
    options.slots = <size_t>slots
    options.work_bytes = byte_count(work_bytes, "work_bytes", 0)
    if weights is not None:
        options.weights = weights._allocation.address
        options.weight_bytes = <size_t>weights._length
        # The core keeps the block: an instance that is dropped stays loaded until its device's next reap.
        Py_INCREF(weights)
        options.weights_owner = shared_ptr[KeptObject](new KeptObject(<void *>weights, let_go_of_object))
    cdef AclInstance instance = AclInstance.__new__(AclInstance)
    cdef AclStatus status
    with nogil:
        status = open_instance(device._core, device_pool._pool, pinned_pool._pool, options, instance._core)
    if not status.ok():
        raise acl_exception(status, device._library, device._index, lambda text: ModelLoadError(f"{path}: {text}", path=str(path)))
    instance._device = device
    instance._name = name
    cdef const ModelDescription *model = &dereference(instance._core).description()
    cdef size_t i
    for i in range(model.inputs.size()):
        if i != model.hidden:
            instance._visible.push_back(i)
    return instance
