# Lane: what runs one batch at a time.
@cython.final
cdef class Lane:
    """What runs one batch at a time: one slot of an instance, with a thread of its own once it needs one.

    Attributes
    ----------
    executable : Executable
    instance : InstanceState
    inline : bool
        Callers' own threads may run it.
    """
    cdef readonly object executable
    cdef readonly object instance
    cdef readonly str name
    cdef readonly ModelCounters counters   # its device's
    cdef readonly bint inline
    cdef readonly bint interruptible
    cdef readonly bint reports             # its runs tell what they came to
    cdef bint recovers                     # a fault may end its instance, which can be loaded anew
    cdef bint suspended                    # its instance is being loaded anew
    cdef bint faulty                       # its own thread does that
    cdef readonly bint started
    cdef public bint usable
    cdef public RequestBatch batch         # what runs now
    cdef public object serve               # what a thread of its own does
    cdef object execute
    cdef PyThread_type_lock cell
    cdef readonly bint asleep              # waits, and nothing has woken it
    cdef bint free
    cdef bint borrowed                     # what runs is on its caller's thread
    cdef unsigned long thread              # its own, while there is one
    cdef RequestBatch outer                # its own batch, whose answers call back, while one of them runs a request

    def __init__(self, executable, str name, bint inline, instance=None, counters=None):
        self.executable = executable
        self.execute = executable.execute
        self.interruptible = executable.interruptible
        self.reports = getattr(executable, "reports", False)
        self.recovers = hasattr(executable, "recover")
        self.name = name
        self.inline = inline
        self.instance = instance
        self.counters = counters
        self.cell = take_cell()
        self.usable = True

    def __dealloc__(self):
        if self.cell != NULL:
            PyThread_acquire_lock_timed(self.cell, 0, 0)  # woken as its wait was over anyhow
            give_cell(self.cell)

    cdef inline void wake(self) noexcept:
        if self.asleep:
            self.asleep = False
            open_cell(self.cell)
