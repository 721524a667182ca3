# distutils: language = c++
# cython: language_level=3, embedsignature=False
"""The compiled core. One module, since two would have two copies of the C++ statics; one .pxi file a noun.

It needs no CANN to build or to import, starts no thread and touches no device when imported.
"""
include "status.pxi"
include "pool.pxi"
include "counters.pxi"
include "acl_status.pxi"
include "acl_library.pxi"
include "acl_device.pxi"
include "acl_batch.pxi"
include "acl_instance.pxi"
include "ort_error.pxi"
include "ort_array.pxi"
include "ort_stop.pxi"
include "ort_session.pxi"
include "ort_open.pxi"
