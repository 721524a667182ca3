# RunReport: what a run tells of itself to whoever wants to know.
cdef class RunReport:
    cdef public Py_ssize_t padded_rows   # computed on top of those asked for
    cdef public object gear              # what is shown of the compiled size; None where there is one only
    cdef public int64_t gathered         # when the inputs were together; 0: not known
    cdef public int64_t computed         # when the outputs had arrived
    cdef public int64_t device_ns        # what the device took, batches before it left out
