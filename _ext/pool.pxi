# MemoryPool and Block: the core's pools in Python's hand.
cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES
from cython.operator cimport dereference
from libc.stdint cimport uintptr_t
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.vector cimport vector

from core_pool cimport (
    Allocation,
    AnyPool,
    CoreOwnerUsage,
    CorePoolStats,
    OwnerId,
    PoolEvent,
    PoolOptions,
    open_counting_pool,
    open_host_pool,
)

import operator

from ascend_infer.errors import CopyError
from ascend_infer.memory import OwnerUsage, PoolStats

cdef size_t LARGEST = 1 << 62


cdef size_t byte_count(object value, str option, size_t least) except? 0:
    """An int argument, checked: a number of bytes or of calls."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidOptionError(
            f"{option}: got {type(value).__name__}, expected an int", option=option, got=value
        ) from None
    if not least <= number <= LARGEST:
        raise InvalidOptionError(
            f"{option}: got {number if abs(number) < 2**80 else 'a huge number'}, expected {least} to 2**62",
            option=option,
            got=number if abs(number) < 2**80 else None,
        )
    return number


# No cycle can go through these two: a pool holds no Python object but its name, a block only its pool.
@cython.final
@cython.no_gc
cdef class MemoryPool:
    cdef shared_ptr[AnyPool] _pool
    cdef PoolOptions _options
    cdef str _name
    cdef bint _closed

    def __init__(self):
        raise TypeError("memory pools come from counting_pool and host_pool")

    @property
    def name(self):
        return self._name

    @property
    def host_accessible(self):
        return dereference(self._pool).host_accessible()

    @property
    def closed(self):
        return self._closed

    def stride(self, nbytes):
        return self._options.layout.stride(byte_count(nbytes, "nbytes", 1))

    def allocate(self, nbytes, owner="unnamed"):
        cdef size_t size = byte_count(nbytes, "nbytes", 1)
        if not isinstance(owner, str) or not owner:
            raise InvalidOptionError(
                f"owner: got {owner!r}, expected a name, as in 'weights of resnet50'", option="owner", got=owner
            )
        cdef string name = (<str>owner).encode("utf-8", "replace")
        cdef AnyPool *pool = self._pool.get()
        cdef Block block = Block.__new__(Block)
        cdef OwnerId id = 0
        cdef Status status
        # The GIL is let go of only where the upstream may be waited for: taking it back costs more than all the rest.
        status = pool.acquire_owner(name, id)
        if status.ok():
            if not pool.try_allocate(size, id, block._allocation, status):
                with nogil:
                    status = pool.allocate(size, id, block._allocation)
            pool.release_owner(id)  # the block keeps the owner known
        if not status.ok():
            raise exception_of(status, self._name, pool.host_accessible())
        block._pool = self
        block._owner = owner
        block._length = <Py_ssize_t>size
        return block

    cdef int _check_process(self) except -1:
        if dereference(self._pool).forked():
            raise exception_of(Status(StatusCode.forked), self._name, False)
        return 0

    def stats(self):
        self._check_process()
        cdef CorePoolStats now = dereference(self._pool).stats()
        return PoolStats(
            active_bytes=now.active_bytes,
            held_bytes=now.held_bytes,
            reserved_bytes=now.reserved_bytes,
            requested_bytes=now.requested_bytes,
            peak_active_bytes=now.peak_active_bytes,
            peak_reserved_bytes=now.peak_reserved_bytes,
            largest_held_bytes=now.largest_held_bytes,
            limit_bytes=now.limit_bytes or None,
            active_blocks=now.active_blocks,
            held_blocks=now.held_blocks,
            regions=now.regions,
            allocations=now.allocations,
            frees=now.frees,
            failures=now.failures,
            upstream_allocations=now.upstream_allocations,
            upstream_frees=now.upstream_frees,
        )

    def owners(self):
        self._check_process()
        cdef vector[CoreOwnerUsage] all_owners = dereference(self._pool).owners()
        cdef size_t i
        usages = []
        for i in range(all_owners.size()):
            usages.append(
                OwnerUsage(
                    name=all_owners[i].name.decode("utf-8", "replace"),
                    active_bytes=all_owners[i].active_bytes,
                    peak_active_bytes=all_owners[i].peak_active_bytes,
                    active_blocks=all_owners[i].active_blocks,
                    allocations=all_owners[i].allocations,
                )
            )
        return tuple(usages)

    def trim(self):
        self._check_process()
        cdef size_t given_back
        cdef AnyPool *pool = self._pool.get()
        with nogil:
            given_back = pool.trim()
        return given_back

    def start_recording(self, most_events=1_000_000):
        cdef Status status = dereference(self._pool).start_recording(byte_count(most_events, "most_events", 1))
        if not status.ok():
            raise exception_of(status, self._name, True)

    def stop_recording(self):
        self._check_process()
        cdef vector[PoolEvent] events = dereference(self._pool).stop_recording()
        cdef size_t i
        lines, known = [], {}
        for i in range(events.size()):
            if events[i].bytes != 0:
                known[events[i].serial] = len(known) + 1
                lines.append(f"+ {len(known)} {events[i].bytes}\n")
            elif events[i].serial in known:  # others were there before the recording
                lines.append(f"- {known[events[i].serial]}\n")
        return "".join(lines)

    def close(self):
        cdef AnyPool *pool = self._pool.get()
        self._closed = True
        with nogil:
            pool.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        raise CopyError("a memory pool cannot be copied or pickled")

    def __repr__(self):
        cdef CorePoolStats now = dereference(self._pool).stats()
        return (
            f"<MemoryPool {self._name}: {now.active_bytes} bytes active, {now.held_bytes} held,"
            f" {now.active_blocks} blocks{', closed' if self._closed else ''}>"
        )


@cython.final
@cython.no_gc
cdef class Block:
    cdef MemoryPool _pool
    cdef Allocation _allocation
    cdef str _owner
    cdef Py_ssize_t _length  # what Py_buffer.shape points at
    cdef Py_ssize_t _exports  # views that live
    cdef bint _released  # by the user; the memory follows when the last view is gone

    def __init__(self):
        raise TypeError("blocks come from MemoryPool.allocate")

    @property
    def address(self):
        if self._released:
            raise ClosedError(f"{self!r} has no address any more")
        return self._allocation.address

    @property
    def nbytes(self):
        return self._length

    @property
    def owner(self):
        return self._owner

    @property
    def pool(self):
        return self._pool

    @property
    def views(self):
        return self._exports

    @property
    def freed(self):
        return self._released

    def free(self):
        if self._released:
            return
        self._released = True
        if self._exports == 0:
            self._give_back()

    cdef int _give_back(self) except -1:
        cdef Allocation allocation = self._allocation
        cdef AnyPool *pool = self._pool._pool.get()
        cdef Status status
        if allocation.serial == 0:
            return 0
        self._allocation.serial = 0
        if self._pool._closed:
            with nogil:  # a region may go back to the upstream
                status = pool.free(allocation)
        else:
            status = pool.free(allocation)
        if not status.ok():
            raise exception_of(status, self._pool._name, pool.host_accessible())
        return 0

    cdef void _give_back_unraisable(self) noexcept:
        self._give_back()

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self._released:
            raise ClosedError(f"{self!r} has no memory to show any more")
        if not dereference(self._pool._pool).host_accessible():
            raise MemoryBlockError(f"{self!r} is no memory of the host: copy it there first", reason="no_host_memory")
        view.buf = <void *>self._allocation.address
        view.obj = self
        view.len = self._length
        view.readonly = 0
        view.itemsize = 1
        view.ndim = 1
        view.format = <char *>b"B" if flags & PyBUF_FORMAT else NULL
        view.shape = &self._length if flags & PyBUF_ND else NULL
        view.strides = &view.itemsize if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL
        self._exports += 1

    def __releasebuffer__(self, Py_buffer *view):
        self._exports -= 1
        if self._exports == 0 and self._released:
            self._give_back_unraisable()

    def __dealloc__(self):
        if self._pool is not None:
            self._give_back_unraisable()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.free()

    def __len__(self):
        return self._length

    def __reduce__(self):
        raise CopyError("a block of a memory pool cannot be copied or pickled")

    def __repr__(self):
        state = "active" if not self._released else "free" if self._exports == 0 else "freed, with living views"
        return f"<Block of {self._length} bytes, {self._owner}, {state}>"


cdef PoolOptions options_from(object pool_bytes, object limit_bytes, bint growable, bint guard, size_t extra) except *:
    cdef PoolOptions options
    options.pool_bytes = byte_count(pool_bytes, "pool_bytes", 0)
    if limit_bytes is not None:
        options.limit_bytes = byte_count(limit_bytes, "limit_bytes", 1)
    options.growable = growable
    options.guard = guard
    options.layout.upstream_extra = extra
    return options


cdef MemoryPool wrap_pool(shared_ptr[AnyPool] pool, PoolOptions options, str name):
    cdef MemoryPool wrapped = MemoryPool.__new__(MemoryPool)
    wrapped._pool = pool
    wrapped._options = options
    wrapped._name = name
    return wrapped


def counting_pool(
    capacity_bytes, *, pool_bytes=0, limit_bytes=None, growable=True, failing_calls=(), upstream_extra=0
):
    cdef size_t capacity = byte_count(capacity_bytes, "capacity_bytes", 0)
    cdef vector[size_t] failing
    for call in failing_calls:
        failing.push_back(byte_count(call, "failing_calls", 1))
    cdef PoolOptions options = options_from(
        pool_bytes, limit_bytes, growable, False, byte_count(upstream_extra, "upstream_extra", 0)
    )
    cdef shared_ptr[AnyPool] pool
    cdef Status status = open_counting_pool(options, capacity, failing, pool)
    if not status.ok():
        raise exception_of(status, "counting pool", False)
    return wrap_pool(pool, options, "counting pool")


def host_pool(*, pool_bytes=0, limit_bytes=None, growable=True, guard=False):
    cdef PoolOptions options = options_from(pool_bytes, limit_bytes, growable, guard, 0)
    cdef shared_ptr[AnyPool] pool
    cdef Status status
    with nogil:
        status = open_host_pool(options, pool)
    if not status.ok():
        raise exception_of(status, "host pool", True)
    return wrap_pool(pool, options, "host pool")
