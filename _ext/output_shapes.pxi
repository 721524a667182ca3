# OutputShapes: what a model's outputs may look like; what each run gave is held against it.


@cython.final
cdef class _OutputShape:
    cdef str title
    cdef tuple dims              # without the batch
    cdef cnp.npy_intp sizes[64]
    cdef int ndim                # -1 where the dims may be any
    cdef bint free               # whether the rows may be any too


@cython.final
cdef class OutputShapes:
    cdef bint batched
    cdef bint guessed            # nobody said that the first dimension is the batch
    cdef dict by_name
    # A run mostly gives the same outputs as the one before it.
    cdef tuple names
    cdef list found

    def __init__(self, rules=(), *, bint batched=True, bint guessed=False):
        cdef _OutputShape shape
        self.batched = batched
        self.guessed = guessed
        self.by_name = {}
        for name, title, dims, free in rules:
            shape = _OutputShape.__new__(_OutputShape)
            shape.title = title
            shape.free = free
            shape.ndim = -1
            if dims is not None and len(dims) <= 60:
                shape.dims = dims
                shape.ndim = len(dims)
                for i, dim in enumerate(dims):
                    shape.sizes[i] = dim
            self.by_name[name] = shape

    cdef object wrong(self, str model, tuple names, list arrays, Py_ssize_t rows, bint alone):
        # The error of a run that gave something else; None for one that did not. What a guessed batch gave has to be cut
        # up only where several requests were in it.
        cdef Py_ssize_t i
        cdef bint any_rows = alone and self.guessed
        if names is not self.names:
            self.look_up(names)
        for i in range(len(arrays)):
            if not self.fits(self.found[i], arrays[i], rows, any_rows):
                return self.error(model, self.found[i], arrays[i], rows)
        return None

    cdef bint fits(self, _OutputShape rule, object value, Py_ssize_t rows, bint any_rows) except -1:
        cdef cnp.ndarray array
        cdef int i, ndim, offset = 1 if self.batched else 0
        if rule.free:
            return True
        array = value
        ndim = cnp.PyArray_NDIM(array)
        if offset and (ndim == 0 or (cnp.PyArray_DIM(array, 0) != rows and not any_rows)):
            return False
        if rule.ndim < 0:
            return True
        if ndim != rule.ndim + offset:
            return False
        for i in range(rule.ndim):
            if rule.sizes[i] != cnp.PyArray_DIM(array, i + offset) and rule.sizes[i] != -1:
                return False
        return True

    cdef int look_up(self, tuple names) except -1:
        cdef _OutputShape shape
        cdef list found = []
        for name in names:
            shape = self.by_name.get(name)
            if shape is None:
                shape = self.by_name[name] = _OutputShape.__new__(_OutputShape)
                shape.title = name
                shape.ndim = -1
            found.append(shape)
        self.names, self.found = names, found
        return 0

    cdef object error(self, str model, _OutputShape rule, object array, Py_ssize_t rows):
        given = list(array.shape)
        expected = [rows] if self.batched else []
        expected += ["..."] if rule.ndim < 0 else rule.dims
        shown = ", ".join(map(str, expected))
        if self.batched and given[:1] != [rows]:
            remedy = "A model whose outputs have no batch dimension, or another one, needs max_batch_size 0"
        else:
            remedy = "Correct the output's dims in config.pbtxt, or the model"
        company = f" for a batch of {rows} row{'' if rows == 1 else 's'}" if self.batched else ""
        return ModelExecutionError(
            f"model {model!r}: output {rule.title!r} came back with shape {given}{company}; expected [{shown}]. {remedy}",
            model=model,
        )
