# AclLibrary: an ACL C library, opened; and what the whole process shares.
from core_acl cimport (
    CoreLibrary,
    count_devices,
    open_library,
    the_process,
)
from libc.stdint cimport uint32_t

import os

from ascend_infer.errors import LibraryError


def _usage_error(text):
    return InvalidOptionError(text, option="device")


@cython.final
@cython.no_gc
cdef class AclLibrary:
    cdef CoreLibrary *_core  # never freed

    def __init__(self):
        raise TypeError("libraries come from open_acl_library")

    @property
    def path(self):
        return os.fsdecode(self._core.path())

    @property
    def is_simulator(self):
        return self._core.is_simulator()

    @property
    def symbols(self):
        cdef size_t i
        table = []
        for i in range(self._core.symbols().size()):
            symbol = self._core.symbols()[i]
            table.append(
                ((<bytes>symbol.name).decode(), symbol.required, (<bytes>symbol.since).decode(), symbol.found)
            )
        return tuple(table)

    def address(self, str name):
        cdef size_t i
        cdef bytes wanted = name.encode()
        for i in range(self._core.symbols().size()):
            if <bytes>self._core.symbols()[i].name == wanted:
                return <uintptr_t>self._core.symbols()[i].address
        raise KeyError(name)

    def device_count(self):
        cdef uint32_t count = 0
        cdef AclStatus status
        with nogil:
            status = count_devices(self._core[0], count)
        if not status.ok():
            raise acl_exception(status, self, -1, _usage_error)
        return count

    def __eq__(self, other):
        return isinstance(other, AclLibrary) and (<AclLibrary>other)._core == self._core

    def __hash__(self):
        return hash(<uintptr_t>self._core)

    def __reduce__(self):
        raise CopyError("a loaded library cannot be copied or pickled")

    def __repr__(self):
        return f"<AclLibrary {self.path}>"


def open_acl_library(path, companions=(), *, bint global_symbols):
    cdef string main = os.fsencode(path)
    cdef vector[string] others
    for companion in companions:
        others.push_back(<bytes>os.fsencode(companion))
    cdef string reason
    cdef vector[string] missing
    cdef CoreLibrary *core
    cdef bint is_global = global_symbols
    with nogil:
        core = open_library(main, others, is_global, reason, missing)
    if core == NULL and missing.size() != 0:
        names = [missing[i].decode() for i in range(missing.size())]
        raise LibraryError(
            f"{os.fsdecode(path)} is no complete ACL library: it lacks {len(names)} of the functions that every CANN "
            f"has: {', '.join(names)}"
            + (
                "; from CANN 8.5 on they are split, and libacl_mdl.so comes with the package ge-executor"
                if all(name.startswith("aclmdl") or "TensorDesc" in name for name in names)
                else ""
            ),
            library=os.fsdecode(path),
        )
    if core == NULL:
        raise LibraryError(
            f"{os.fsdecode(path)} cannot be loaded: {reason.decode('utf-8', 'replace')}", library=os.fsdecode(path)
        )
    cdef AclLibrary library = AclLibrary.__new__(AclLibrary)
    library._core = core
    return library


def pause_work(int timeout_ms):
    cdef bint paused
    with nogil:
        paused = the_process().pause(timeout_ms)
    return paused


def resume_work():
    with nogil:
        the_process().resume()


def set_exiting():
    the_process().set_exiting()
