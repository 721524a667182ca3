# AclDevice: a device in our hands, and the memory pools on it.
from core_acl cimport (
    CoreDevice,
    DeviceMemory,
    ModelSizes,
    acl_malloc_extra,
    open_device,
    open_device_pool,
    open_pinned_pool,
    query_model_sizes,
)


@cython.final
@cython.no_gc
cdef class AclDevice:
    cdef shared_ptr[CoreDevice] _core
    cdef AclLibrary _library
    cdef int _index

    def __init__(self):
        raise TypeError("devices come from open_acl_device")

    @property
    def library(self):
        return self._library

    @property
    def index(self):
        return self._index

    @property
    def soc_name(self):
        return dereference(self._core).soc_name().decode("utf-8", "replace")

    @property
    def unified(self):
        return dereference(self._core).unified()

    @property
    def closed(self):
        return dereference(self._core).closed()

    def memory(self):
        cdef DeviceMemory memory
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.memory(memory)
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)
        return (memory.free, memory.total, "HBM" if memory.hbm else "DDR")

    def utilization(self):
        cdef int percent = -1
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.utilization(percent)
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)
        return None if percent < 0 else percent / 100

    def model_sizes(self, path):
        cdef string name = os.fsencode(path)
        cdef ModelSizes sizes
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = query_model_sizes(core[0], name, sizes)
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)
        return (sizes.work, sizes.weights)

    def device_pool(self, *, pool_bytes=0, limit_bytes=None, growable=True):
        cdef PoolOptions options = options_from(pool_bytes, limit_bytes, growable, False, acl_malloc_extra)
        cdef shared_ptr[AnyPool] pool
        cdef Status status
        with nogil:
            status = open_device_pool(options, self._core, pool)
        name = f"memory of device {self._index}"
        if not status.ok():
            raise exception_of(status, name, False)
        return wrap_pool(pool, options, name)

    def pinned_pool(self, *, pool_bytes=0, limit_bytes=None, growable=True):
        cdef PoolOptions options = options_from(pool_bytes, limit_bytes, growable, False, 0)
        cdef shared_ptr[AnyPool] pool
        cdef Status status
        with nogil:
            status = open_pinned_pool(options, self._core, pool)
        name = f"pinned memory for device {self._index}"
        if not status.ok():
            raise exception_of(status, name, True)
        return wrap_pool(pool, options, name)

    def synchronise(self):
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.synchronise()
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)

    def reap(self):
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.reap()
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)

    def close(self):
        cdef CoreDevice *core = self._core.get()
        cdef AclStatus status
        with nogil:
            status = core.close()
        if not status.ok():
            raise acl_exception(status, self._library, self._index, _usage_error)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        raise CopyError("an open device cannot be copied or pickled")

    def __repr__(self):
        return f"<AclDevice {self._index} of {self._library!r}{', closed' if self.closed else ''}>"


def open_acl_device(AclLibrary library not None, int index):
    cdef AclDevice device = AclDevice.__new__(AclDevice)
    cdef AclStatus status
    with nogil:
        status = open_device(library._core[0], index, device._core)
    if not status.ok():
        raise acl_exception(status, library, index, _usage_error)
    device._library = library
    device._index = index
    return device
