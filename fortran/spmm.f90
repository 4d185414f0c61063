! The module of libspmm: include/spmm.h for Fortran 2008 and later, with communicators of mpi_f08.
!
! A program is compiled with MPI's wrapper, either against the module that was installed with the library,
!     mpifort solver.f90 -o solver $(pkg-config --cflags --libs spmm-fortran)
! or, if the compiler cannot read the installed .mod file, together with this file, which comes first:
!     mpifort $(pkg-config --variable=source spmm) solver.f90 -o solver $(pkg-config --libs spmm)
!
! spmm.h (man 3 spmm) describes the functions. The differences are:
! - A function that returns an spmm_status in C is a subroutine with an argument `status`. Output arguments
!   precede `status`; optional arguments follow it.
! - Fortran ignores case, and spmm_csr is a type: the constants of formats are called SPMM_FORMAT_CSR,
!   SPMM_FORMAT_ELL and so on.
! - Indices are 0-based as in C: those in arrays, and members such as row_begin.
! - A multivector is row-major [rows x k]. Fortran's arrays are column-major, so that it is an array x(ld,
!   rows) here: its row i, counted from 1, is x(1:k, i), which is contiguous. spmm_multivector_pointer()
!   returns a pointer to this array in host memory. A program that has its own array x(ld, rows) sets v%data =
!   c_loc(x), v%ld = size(x, 1) and the other members. An array x(ld, k) in Fortran's own order is a
!   multivector with v%layout = SPMM_COLUMN_MAJOR.
! - Small dense matrices are row-major, too: g(j, i) of spmm_multivector_dot() is the inner product of column
!   i of X with column j of Y, and r(j, i) of spmm_multivector_times() is the factor of column i of X in
!   column j of Y. If an array is too small, status is SPMM_ERR_USAGE.
! - spmm_plan_view() prints on standard output. (The program must flush its own output there to keep the
!   order.)
! - There is no SPMM_VERSION: its name would be that of spmm_version(), which returns the library's version.
! - Names and messages are of type character; trailing blanks of a name are ignored. There is no name with a
!   null character.
! - Members of types have default values, zero for most. As in C, a block of the library's functions may be
!   destroyed before its plan; arrays of the program in a block must outlive the plan.
module spmm
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm
  implicit none
  private

  ! spmm_status
  integer(c_int), parameter, public :: SPMM_OK = 0, SPMM_ERR_VERIFY = 1, SPMM_ERR_USAGE = 2, SPMM_ERR_OPEN = 3, &
    SPMM_ERR_SYNTAX = 4, SPMM_ERR_UNSUPPORTED = 5, SPMM_ERR_MEMORY = 6, SPMM_ERR_LIMIT = 7, SPMM_ERR_NO_DEVICE = 8, &
    SPMM_ERR_DEVICE = 9, SPMM_ERR_MPI = 10, SPMM_ERR_OUTPUT = 11, SPMM_ERR_INTERNAL = 12, SPMM_STATUS_COUNT = 13
  ! spmm_precision
  integer(c_int), parameter, public :: SPMM_F64 = 0, SPMM_F32 = 1, SPMM_C128 = 2, SPMM_C64 = 3
  ! spmm_operation
  integer(c_int), parameter, public :: SPMM_NO_TRANSPOSE = 0, SPMM_TRANSPOSE = 1, SPMM_CONJUGATE_TRANSPOSE = 2
  ! spmm_device
  integer(c_int), parameter, public :: SPMM_CPU = 0, SPMM_CUDA = 1
  ! spmm_layout
  integer(c_int), parameter, public :: SPMM_ROW_MAJOR = 0, SPMM_COLUMN_MAJOR = 1
  ! spmm_format
  integer(c_int), parameter, public :: SPMM_FORMAT_AUTO = 0, SPMM_FORMAT_CSR = 1, SPMM_FORMAT_ELL = 2, &
    SPMM_FORMAT_ELL_NOPAD = 3, SPMM_FORMAT_SELL = 4, SPMM_FORMAT_PANEL = 5, SPMM_FORMAT_STAGED = 6, SPMM_FORMAT_COUNT = 7
  ! spmm_cut_by
  integer(c_int), parameter, public :: SPMM_CUT_AUTO = 0, SPMM_CUT_ENTRIES = 1, SPMM_CUT_ROWS = 2, &
    SPMM_CUT_LAYOUT = 3, SPMM_CUT_GRAPH = 4
  ! spmm_exchange
  integer(c_int), parameter, public :: SPMM_EXCHANGE_AUTO = 0, SPMM_EXCHANGE_HALO = 1, SPMM_EXCHANGE_BCAST = 2, &
    SPMM_EXCHANGE_JOINT = 3
  ! spmm_transport
  integer(c_int), parameter, public :: SPMM_TRANSPORT_AUTO = 0, SPMM_TRANSPORT_MPI = 1, SPMM_TRANSPORT_STAGED = 2, &
    SPMM_TRANSPORT_CUDA_AWARE = 3, SPMM_TRANSPORT_NCCL = 4, SPMM_TRANSPORT_PEER = 5, SPMM_TRANSPORT_SHARED = 6
  ! spmm_reduce
  integer(c_int), parameter, public :: SPMM_REDUCE_AUTO = 0, SPMM_REDUCE_LINEAR = 1, SPMM_REDUCE_TREE = 2, &
    SPMM_REDUCE_BUTTERFLY = 3, SPMM_REDUCE_MPI = 4, SPMM_REDUCE_NCCL = 5

  ! The members are those of C's structs, in their order.
  type, bind(c), public :: spmm_csr
    integer(c_int64_t) :: rows = 0, cols = 0
    integer(c_int64_t) :: nnz = 0
    integer(c_int) :: precision = 0
    type(c_ptr) :: irp = c_null_ptr ! spmm_csr_pointers() gives arrays
    type(c_ptr) :: ja = c_null_ptr
    type(c_ptr) :: as = c_null_ptr
  end type spmm_csr

  type, bind(c), public :: spmm_rows
    type(c_ptr) :: irp = c_null_ptr ! c_loc() of arrays of integers, 0-based, and of values
    type(c_ptr) :: ja = c_null_ptr
    type(c_ptr) :: as = c_null_ptr
    integer(c_int) :: irp_bytes = 4, ja_bytes = 4
    integer(c_int) :: map_bytes = 4
    integer(c_int64_t) :: first_column = 0
    type(c_ptr) :: map = c_null_ptr
    integer(c_int64_t) :: map_size = 0
    integer(c_int64_t) :: nnz = 0
  end type spmm_rows

  type, bind(c), public :: spmm_multivector
    integer(c_int64_t) :: rows = 0, k = 0
    integer(c_int64_t) :: ld = 0
    integer(c_int) :: precision = 0
    integer(c_int) :: space = 0
    type(c_ptr) :: data = c_null_ptr ! spmm_multivector_pointer() gives an array
    integer(c_int64_t) :: ghost_low = 0, ghost_high = 0
    integer(c_int) :: layout = 0
  end type spmm_multivector

  type, bind(c), public :: spmm_block
    type(spmm_csr) :: csr
    integer(c_int64_t) :: rows = 0, cols = 0
    integer(c_int64_t) :: row_begin = 0, col_begin = 0
    integer(c_int64_t) :: x_begin = 0, x_rows = 0
    integer(c_int) :: p = 0, q = 0
    integer(c_int) :: borrowed = 0
    integer(c_int) :: any_order = 0
  end type spmm_block

  type, bind(c), public :: spmm_cut
    integer(c_int64_t) :: rows = 0
    integer(c_int64_t) :: row_begin = 0, row_count = 0
    type(c_ptr) :: row = c_null_ptr ! c_f_pointer(cut%row, row, [cut%row_count]): 0-based numbers
    type(c_ptr) :: begin = c_null_ptr
    type(c_ptr) :: number = c_null_ptr
    integer(c_int) :: ranks = 0
    integer(c_int) :: by = 0
    integer(c_int64_t) :: moved = 0, moved_by_entries = 0
    real(c_double) :: seconds = 0
    character(kind=c_char) :: why(256) = c_null_char
  end type spmm_cut

  type, bind(c), public :: spmm_plan_options
    integer(c_int) :: device = 0
    integer(c_int) :: format = 0
    type(c_ptr) :: kernel = c_null_ptr ! spmm_plan_create() sets it from its argument `kernel`
    integer(c_int) :: threads = 0
    integer(c_int) :: exchange = 0
    integer(c_int) :: transport = 0
    integer(c_int) :: reduce = 0
    integer(c_int) :: no_overlap = 0
    integer(c_int) :: column_blocks = 0
    integer(c_int) :: any_order = 0
    integer(c_int) :: exact = 0
    integer(c_int64_t) :: products = 0
    type(c_ptr) :: stream = c_null_ptr ! with CUDA Fortran: transfer(stream, c_null_ptr) of an integer(cuda_stream_kind)
    integer(c_int) :: exchange_precision = 0
  end type spmm_plan_options

  ! of spmm_extended.h
  type, bind(c), public :: spmm_plan_study
    real(c_double) :: ell_limit = 0
    integer(c_int) :: block_size = 0
    integer(c_int) :: subwarp = 0
    integer(c_int) :: quick_plan = 0
    integer(c_int) :: all_kernels = 0
  end type spmm_plan_study

  ! An opaque plan; its copies refer to the same plan.
  type, public :: spmm_plan
    private
    type(c_ptr) :: handle = c_null_ptr
  end type spmm_plan

  public :: spmm_version, spmm_status_string, spmm_error_message
  public :: spmm_csr_read, spmm_csr_read_edges, spmm_csr_generate, spmm_csr_from_triplets, spmm_csr_destroy, spmm_csr_pointers
  public :: spmm_csr_scatter, spmm_block_destroy, spmm_csr_upload
  public :: spmm_cut_create, spmm_cut_scatter, spmm_cut_destroy
  public :: spmm_device_open, spmm_device_close
  public :: spmm_multivector_create, spmm_multivector_destroy, spmm_multivector_copy, spmm_multivector_pointer
  public :: spmm_multivector_dot, spmm_multivector_norms, spmm_multivector_times, spmm_multivector_axpby, spmm_multivector_scale
  public :: spmm_plan_create_extended
  public :: spmm_plan_create, spmm_plan_destroy, spmm_plan_kernel, spmm_plan_view, spmm_plan_x_create, spmm_plan_y_create
  public :: spmm_block_from_rows, spmm_plan_view_text, spmm_plan_diagonal, spmm_multivector_scale_rows
  public :: spmm_plan_set_k, spmm_plan_x_create_k, spmm_plan_y_create_k
  public :: spmm_csr_from_triplets_complex, spmm_apply_complex, spmm_multivector_dot_complex, spmm_multivector_times_complex
  public :: spmm_multivector_axpby_complex, spmm_multivector_scale_complex
  public :: spmm_apply, spmm_apply_begin, spmm_apply_end, spmm_apply_transposed, spmm_plan_update_values
  public :: spmm_plan_update_rows, spmm_apply_rows, spmm_plan_set_stream, spmm_rows_apply
  public :: spmm_plan_values_gradient

  ! call spmm_multivector_pointer(v, p, status): p(ld, rows), real or complex of kind real64 or real32, points to
  ! the rows of a multivector in host memory, without ghost rows. If the multivector has elements of another type or is
  ! in GPU memory, p is null and status is SPMM_ERR_USAGE. Local.
  interface spmm_multivector_pointer
    module procedure multivector_pointer_f64, multivector_pointer_f32, multivector_pointer_c128, multivector_pointer_c64
  end interface

  ! call spmm_csr_pointers(a, irp, ja, as, status): pointers to the arrays irp(rows + 1), ja(nnz) and as(nnz)
  ! of a matrix. If its values have another type than `as`, or it has no arrays, the pointers are null and
  ! status is SPMM_ERR_USAGE. Local.
  interface spmm_csr_pointers
    module procedure csr_pointers_f64, csr_pointers_f32, csr_pointers_c128, csr_pointers_c64
  end interface

  interface
    function c_strlen(s) bind(c, name="strlen") result(n)
      import
      type(c_ptr), value :: s
      integer(c_size_t) :: n
    end function
    function c_usage(message) bind(c, name="spmm_fortran_usage") result(status)
      import
      character(kind=c_char), intent(in) :: message(*)
      integer(c_int) :: status
    end function
    function c_version(major, minor, patch) bind(c, name="spmm_version") result(s)
      import
      integer(c_int), intent(out), optional :: major, minor, patch
      type(c_ptr) :: s
    end function
    function c_status_string(status) bind(c, name="spmm_status_string") result(s)
      import
      integer(c_int), value :: status
      type(c_ptr) :: s
    end function
    function c_error_message() bind(c, name="spmm_error_message") result(s)
      import
      type(c_ptr) :: s
    end function
    function c_csr_read_edges(path, base, precision, a) bind(c, name="spmm_csr_read_edges") result(status)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: base, precision
      type(spmm_csr), intent(out) :: a
      integer(c_int) :: status
    end function
    function c_csr_read(path, precision, a) bind(c, name="spmm_csr_read") result(status)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: precision
      type(spmm_csr), intent(out) :: a
      integer(c_int) :: status
    end function
    function c_csr_generate(spec, precision, a) bind(c, name="spmm_csr_generate") result(status)
      import
      character(kind=c_char), intent(in) :: spec(*)
      integer(c_int), value :: precision
      type(spmm_csr), intent(out) :: a
      integer(c_int) :: status
    end function
    function c_csr_from_triplets(rows, cols, nnz, row_index, col_index, val, precision, a) &
        bind(c, name="spmm_csr_from_triplets") result(status)
      import
      integer(c_int64_t), value :: rows, cols, nnz
      type(c_ptr), value :: row_index, col_index, val
      integer(c_int), value :: precision
      type(spmm_csr), intent(out) :: a
      integer(c_int) :: status
    end function
    function c_csr_from_triplets_complex(rows, cols, nnz, row_index, col_index, val, precision, a) &
        bind(c, name="spmm_csr_from_triplets_complex") result(status)
      import
      integer(c_int64_t), value :: rows, cols, nnz
      type(c_ptr), value :: row_index, col_index, val
      integer(c_int), value :: precision
      type(spmm_csr), intent(out) :: a
      integer(c_int) :: status
    end function
    subroutine c_csr_destroy(a) bind(c, name="spmm_csr_destroy")
      import
      type(spmm_csr), intent(inout) :: a
    end subroutine
    function c_csr_upload(a, gpu) bind(c, name="spmm_csr_upload") result(status)
      import
      type(spmm_csr), intent(in) :: a
      type(spmm_csr), intent(out) :: gpu
      integer(c_int) :: status
    end function
    function c_csr_scatter(comm, root, a, p, q, block) bind(c, name="spmm_fortran_csr_scatter") result(status)
      import
      integer(c_int), value :: comm
      integer(c_int), value :: root, p, q
      type(spmm_csr), intent(in) :: a
      type(spmm_block), intent(out) :: block
      integer(c_int) :: status
    end function
    function c_block_from_rows(comm, rows, x_rows, precision, part, parts, block) &
        bind(c, name="spmm_fortran_block_from_rows") result(status)
      import
      integer(c_int), value :: comm
      integer(c_int64_t), value :: rows, x_rows
      integer(c_int), value :: precision, parts
      type(spmm_rows), intent(in) :: part(*)
      type(spmm_block), intent(out) :: block
      integer(c_int) :: status
    end function
    function c_cut_create(comm, root, a, by, k, options, cut) bind(c, name="spmm_fortran_cut_create") result(status)
      import
      integer(c_int), value :: comm
      integer(c_int), value :: root, by
      type(spmm_csr), intent(in) :: a
      integer(c_int64_t), value :: k
      type(spmm_plan_options), intent(in) :: options
      type(spmm_cut), intent(out) :: cut
      integer(c_int) :: status
    end function
    function c_cut_scatter(comm, root, a, cut, block) bind(c, name="spmm_fortran_cut_scatter") result(status)
      import
      integer(c_int), value :: comm
      integer(c_int), value :: root
      type(spmm_csr), intent(in) :: a
      type(spmm_cut), intent(in) :: cut
      type(spmm_block), intent(out) :: block
      integer(c_int) :: status
    end function
    subroutine c_cut_destroy(cut) bind(c, name="spmm_cut_destroy")
      import
      type(spmm_cut), intent(inout) :: cut
    end subroutine
    subroutine c_block_destroy(block) bind(c, name="spmm_block_destroy")
      import
      type(spmm_block), intent(inout) :: block
    end subroutine
    function c_device_open(comm) bind(c, name="spmm_fortran_device_open") result(status)
      import
      integer(c_int), value :: comm
      integer(c_int) :: status
    end function
    subroutine c_device_close() bind(c, name="spmm_device_close")
    end subroutine
    function c_multivector_create(rows, k, precision, space, v) bind(c, name="spmm_multivector_create") result(status)
      import
      integer(c_int64_t), value :: rows, k
      integer(c_int), value :: precision, space
      type(spmm_multivector), intent(out) :: v
      integer(c_int) :: status
    end function
    subroutine c_multivector_destroy(v) bind(c, name="spmm_multivector_destroy")
      import
      type(spmm_multivector), intent(inout) :: v
    end subroutine
    function c_multivector_copy(src, dst) bind(c, name="spmm_multivector_copy") result(status)
      import
      type(spmm_multivector), intent(in) :: src
      type(spmm_multivector), intent(inout) :: dst
      integer(c_int) :: status
    end function
    function c_multivector_dot(comm, x, y, g, ldg) bind(c, name="spmm_fortran_multivector_dot") result(status)
      import
      integer(c_int), value :: comm
      type(spmm_multivector), intent(in) :: x, y
      type(c_ptr), value :: g
      integer(c_int64_t), value :: ldg
      integer(c_int) :: status
    end function
    function c_multivector_dot_complex(comm, x, y, g, ldg) &
        bind(c, name="spmm_fortran_multivector_dot_complex") result(status)
      import
      integer(c_int), value :: comm
      type(spmm_multivector), intent(in) :: x, y
      type(c_ptr), value :: g
      integer(c_int64_t), value :: ldg
      integer(c_int) :: status
    end function
    function c_multivector_norms(comm, x, norm) bind(c, name="spmm_fortran_multivector_norms") result(status)
      import
      integer(c_int), value :: comm
      type(spmm_multivector), intent(in) :: x
      type(c_ptr), value :: norm
      integer(c_int) :: status
    end function
    function c_multivector_times(alpha, x, r, ldr, beta, y) bind(c, name="spmm_multivector_times") result(status)
      import
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(c_ptr), value :: r
      integer(c_int64_t), value :: ldr
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_multivector_times_complex(alpha, x, r, ldr, beta, y) &
        bind(c, name="spmm_multivector_times_complex") result(status)
      import
      complex(c_double_complex), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(c_ptr), value :: r
      integer(c_int64_t), value :: ldr
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_rows_apply(a, alpha, x, beta, y, threads) bind(c, name="spmm_rows_apply") result(status)
      import
      type(spmm_rows), intent(in) :: a
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int), value :: threads
      integer(c_int) :: status
    end function
    function c_multivector_axpby(alpha, x, beta, y) bind(c, name="spmm_multivector_axpby") result(status)
      import
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_multivector_axpby_complex(alpha, x, beta, y) &
        bind(c, name="spmm_multivector_axpby_complex") result(status)
      import
      complex(c_double_complex), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_multivector_scale(factor, x) bind(c, name="spmm_multivector_scale") result(status)
      import
      type(c_ptr), value :: factor
      type(spmm_multivector), intent(inout) :: x
      integer(c_int) :: status
    end function
    function c_multivector_scale_complex(factor, x) bind(c, name="spmm_multivector_scale_complex") result(status)
      import
      type(c_ptr), value :: factor
      type(spmm_multivector), intent(inout) :: x
      integer(c_int) :: status
    end function
    function c_multivector_scale_rows(d, x) bind(c, name="spmm_multivector_scale_rows") result(status)
      import
      type(spmm_multivector), intent(in) :: d
      type(spmm_multivector), intent(inout) :: x
      integer(c_int) :: status
    end function
    function c_plan_diagonal(plan, d) bind(c, name="spmm_plan_diagonal") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_multivector), intent(inout) :: d
      integer(c_int) :: status
    end function
    function c_plan_create(comm, block, k, options, plan) bind(c, name="spmm_fortran_plan_create") result(status)
      import
      integer(c_int), value :: comm
      type(spmm_block), intent(in) :: block
      integer(c_int64_t), value :: k
      type(spmm_plan_options), intent(in) :: options
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    function c_plan_create_extended(comm, block, k, options, study, plan) bind(c, name="spmm_fortran_plan_create_extended") &
      result(status)
      import
      integer(c_int), value :: comm
      type(spmm_block), intent(in) :: block
      integer(c_int64_t), value :: k
      type(spmm_plan_options), intent(in) :: options
      type(spmm_plan_study), intent(in) :: study
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    subroutine c_plan_destroy(plan) bind(c, name="spmm_plan_destroy")
      import
      type(c_ptr), value :: plan
    end subroutine
    function c_plan_kernel(plan) bind(c, name="spmm_plan_kernel") result(s)
      import
      type(c_ptr), value :: plan
      type(c_ptr) :: s
    end function
    function c_plan_view(plan) bind(c, name="spmm_fortran_plan_view") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function
    function c_plan_view_text(plan, text) bind(c, name="spmm_plan_view_text") result(status)
      import
      type(c_ptr), value :: plan
      type(c_ptr), intent(out) :: text
      integer(c_int) :: status
    end function
    subroutine c_free(p) bind(c, name="free")
      import
      type(c_ptr), value :: p
    end subroutine
    function c_plan_x_create(plan, x) bind(c, name="spmm_plan_x_create") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_multivector), intent(out) :: x
      integer(c_int) :: status
    end function
    function c_plan_y_create(plan, y) bind(c, name="spmm_plan_y_create") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_multivector), intent(out) :: y
      integer(c_int) :: status
    end function
    function c_plan_set_k(plan, k) bind(c, name="spmm_plan_set_k") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: k
      integer(c_int) :: status
    end function
    function c_plan_x_create_k(plan, k, x) bind(c, name="spmm_plan_x_create_k") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: k
      type(spmm_multivector), intent(out) :: x
      integer(c_int) :: status
    end function
    function c_plan_y_create_k(plan, k, y) bind(c, name="spmm_plan_y_create_k") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: k
      type(spmm_multivector), intent(out) :: y
      integer(c_int) :: status
    end function
    function c_apply(plan, alpha, x, beta, y) bind(c, name="spmm_apply") result(status)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_apply_begin(plan, alpha, x, beta, y) bind(c, name="spmm_apply_begin") result(status)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_apply_end(plan) bind(c, name="spmm_apply_end") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function
    function c_apply_transposed(plan, alpha, x, beta, y) bind(c, name="spmm_apply_transposed") result(status)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_apply_complex(plan, op, alpha, x, beta, y) &
        bind(c, name="spmm_apply_complex") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: op
      complex(c_double_complex), value :: alpha, beta
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int) :: status
    end function
    function c_plan_update_values(plan) bind(c, name="spmm_plan_update_values") result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function
    function c_plan_update_rows(plan, a, same) bind(c, name="spmm_plan_update_rows") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_rows), intent(in) :: a
      integer(c_int), intent(out) :: same
      integer(c_int) :: status
    end function
    function c_apply_rows(plan, a, x, y, same) bind(c, name="spmm_apply_rows") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_rows), intent(in) :: a
      type(spmm_multivector), intent(in) :: x
      type(spmm_multivector), intent(inout) :: y
      integer(c_int), intent(out) :: same
      integer(c_int) :: status
    end function
    function c_plan_values_gradient(plan, g, x, values) bind(c, name="spmm_plan_values_gradient") result(status)
      import
      type(c_ptr), value :: plan
      type(spmm_multivector), intent(in) :: g, x
      type(spmm_multivector), intent(inout) :: values
      integer(c_int) :: status
    end function
    function c_plan_set_stream(plan, stream) bind(c, name="spmm_plan_set_stream") result(status)
      import
      type(c_ptr), value :: plan, stream
      integer(c_int) :: status
    end function
  end interface

  ! targets of pointers that have no elements
  real(real64), target, save :: nothing_f64(1) = 0
  real(real32), target, save :: nothing_f32(1) = 0
  complex(real64), target, save :: nothing_c128(1) = 0
  complex(real32), target, save :: nothing_c64(1) = 0

contains

  ! ---- texts ----

  ! Returns a zero-terminated string of C as a character.
  function text_of(s) result(text)
    type(c_ptr), intent(in) :: s
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(s, letters, [c_strlen(s)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  function spmm_version(major, minor, patch) result(text)
    integer(c_int), intent(out), optional :: major, minor, patch
    character(:), allocatable :: text
    text = text_of(c_version(major, minor, patch))
  end function

  function spmm_status_string(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text
    text = text_of(c_status_string(status))
  end function

  function spmm_error_message() result(text)
    character(:), allocatable :: text
    text = text_of(c_error_message())
  end function

  ! Returns a name for C, without trailing blanks. A null character in it, where C would see the end of another
  ! name, becomes a question mark, so that C refuses the name, on all ranks if the call is collective.
  function c_name(name)
    character(*), intent(in) :: name
    character(len_trim(name) + 1, c_char) :: c_name
    integer :: i
    c_name = trim(name) // c_null_char
    do i = 1, len_trim(name)
      if (name(i:i) == c_null_char) c_name(i:i) = "?"
    end do
  end function

  ! ---- matrices ----

  subroutine spmm_csr_read(path, precision, a, status)
    character(*), intent(in) :: path
    integer(c_int), intent(in) :: precision
    type(spmm_csr), intent(out) :: a
    integer(c_int), intent(out) :: status
    status = c_csr_read(c_name(path), precision, a)
  end subroutine

  subroutine spmm_csr_read_edges(path, base, precision, a, status)
    character(*), intent(in) :: path
    integer(c_int), intent(in) :: base, precision
    type(spmm_csr), intent(out) :: a
    integer(c_int), intent(out) :: status
    status = c_csr_read_edges(c_name(path), base, precision, a)
  end subroutine

  subroutine spmm_csr_generate(spec, precision, a, status)
    character(*), intent(in) :: spec
    integer(c_int), intent(in) :: precision
    type(spmm_csr), intent(out) :: a
    integer(c_int), intent(out) :: status
    status = c_csr_generate(c_name(spec), precision, a)
  end subroutine

  ! The number of triplets is the size of row_index. Without val, all values are 1.
  subroutine spmm_csr_from_triplets(rows, cols, row_index, col_index, precision, a, status, val)
    integer(c_int64_t), intent(in) :: rows, cols
    integer(c_int64_t), intent(in), contiguous, target :: row_index(:), col_index(:)
    integer(c_int), intent(in) :: precision
    type(spmm_csr), intent(out) :: a
    integer(c_int), intent(out) :: status
    real(c_double), intent(in), contiguous, target, optional :: val(:)
    type(c_ptr) :: values
    logical :: as_many
    as_many = size(col_index) == size(row_index)
    values = c_null_ptr
    if (present(val)) then
      as_many = as_many .and. size(val) == size(row_index)
      if (size(val) > 0) values = c_loc(val)
    end if
    if (as_many) then
      status = c_csr_from_triplets(rows, cols, size(row_index, kind=c_int64_t), address(row_index), address(col_index), &
                                   values, precision, a)
    else
      status = usage("spmm_csr_from_triplets: row_index, col_index and val differ in size, expected one for each triplet")
    end if
  end subroutine

  subroutine spmm_csr_from_triplets_complex(rows, cols, row_index, col_index, val, precision, a, status)
    integer(c_int64_t), intent(in) :: rows, cols
    integer(c_int64_t), intent(in), contiguous, target :: row_index(:), col_index(:)
    complex(c_double_complex), intent(in), contiguous, target :: val(:)
    integer(c_int), intent(in) :: precision
    type(spmm_csr), intent(out) :: a
    integer(c_int), intent(out) :: status
    type(c_ptr) :: values
    values = c_null_ptr
    if (size(val) > 0) values = c_loc(val)
    if (size(col_index) == size(row_index) .and. size(val) == size(row_index)) then
      status = c_csr_from_triplets_complex(rows, cols, size(row_index, kind=c_int64_t), address(row_index), &
                                           address(col_index), values, precision, a)
    else
      status = usage("spmm_csr_from_triplets_complex: row_index, col_index and val differ in size, expected one for each triplet")
    end if
  end subroutine

  ! Returns the address of an array that may be empty: c_loc() requires an element.
  function address(index) result(p)
    integer(c_int64_t), intent(in), contiguous, target :: index(:)
    type(c_ptr) :: p
    integer(c_int64_t), target, save :: none(1) = 0
    if (size(index) > 0) then
      p = c_loc(index)
    else
      p = c_loc(none)
    end if
  end function

  subroutine spmm_csr_destroy(a)
    type(spmm_csr), intent(inout) :: a
    call c_csr_destroy(a)
  end subroutine

  subroutine spmm_csr_upload(a, gpu, status)
    type(spmm_csr), intent(in) :: a
    type(spmm_csr), intent(out) :: gpu
    integer(c_int), intent(out) :: status
    status = c_csr_upload(a, gpu)
  end subroutine

  subroutine csr_pointers_f64(a, irp, ja, as, status)
    type(spmm_csr), intent(in) :: a
    integer(c_int64_t), pointer, intent(out) :: irp(:)
    integer(c_int32_t), pointer, intent(out) :: ja(:)
    real(real64), pointer, intent(out) :: as(:)
    integer(c_int), intent(out) :: status
    nullify (as)
    call csr_indices(a, SPMM_F64, "real64", irp, ja, status)
    if (status == SPMM_OK) call c_f_pointer(a%as, as, [a%nnz])
  end subroutine

  subroutine csr_pointers_f32(a, irp, ja, as, status)
    type(spmm_csr), intent(in) :: a
    integer(c_int64_t), pointer, intent(out) :: irp(:)
    integer(c_int32_t), pointer, intent(out) :: ja(:)
    real(real32), pointer, intent(out) :: as(:)
    integer(c_int), intent(out) :: status
    nullify (as)
    call csr_indices(a, SPMM_F32, "real32", irp, ja, status)
    if (status == SPMM_OK) call c_f_pointer(a%as, as, [a%nnz])
  end subroutine

  subroutine csr_pointers_c128(a, irp, ja, as, status)
    type(spmm_csr), intent(in) :: a
    integer(c_int64_t), pointer, intent(out) :: irp(:)
    integer(c_int32_t), pointer, intent(out) :: ja(:)
    complex(real64), pointer, intent(out) :: as(:)
    integer(c_int), intent(out) :: status
    nullify (as)
    call csr_indices(a, SPMM_C128, "complex(real64)", irp, ja, status)
    if (status == SPMM_OK) call c_f_pointer(a%as, as, [a%nnz])
  end subroutine

  subroutine csr_pointers_c64(a, irp, ja, as, status)
    type(spmm_csr), intent(in) :: a
    integer(c_int64_t), pointer, intent(out) :: irp(:)
    integer(c_int32_t), pointer, intent(out) :: ja(:)
    complex(real32), pointer, intent(out) :: as(:)
    integer(c_int), intent(out) :: status
    nullify (as)
    call csr_indices(a, SPMM_C64, "complex(real32)", irp, ja, status)
    if (status == SPMM_OK) call c_f_pointer(a%as, as, [a%nnz])
  end subroutine

  subroutine csr_indices(a, precision, kind, irp, ja, status)
    type(spmm_csr), intent(in) :: a
    integer(c_int), intent(in) :: precision
    character(*), intent(in) :: kind
    integer(c_int64_t), pointer, intent(out) :: irp(:)
    integer(c_int32_t), pointer, intent(out) :: ja(:)
    integer(c_int), intent(out) :: status
    nullify (irp, ja)
    status = SPMM_OK
    if (.not. c_associated(a%irp)) then
      status = usage("spmm_csr_pointers: a has no arrays, expected a matrix")
    else if (a%precision /= precision) then
      status = usage("spmm_csr_pointers: as is a pointer to " // kind // ", but a has values of another type")
    else
      call c_f_pointer(a%irp, irp, [a%rows + 1])
      call c_f_pointer(a%ja, ja, [a%nnz])
    end if
  end subroutine

  function usage(message) result(status)
    character(*), intent(in) :: message
    integer(c_int) :: status
    status = c_usage(message // c_null_char)
  end function

  ! `a` is read on rank `root` only; on other ranks it may be an empty matrix.
  subroutine spmm_csr_scatter(comm, root, a, p, q, block, status)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in) :: root
    type(spmm_csr), intent(in) :: a
    integer(c_int), intent(in) :: p, q
    type(spmm_block), intent(out) :: block
    integer(c_int), intent(out) :: status
    status = c_csr_scatter(int(comm%MPI_VAL, c_int), root, a, p, q, block)
  end subroutine

  subroutine spmm_cut_create(comm, root, a, by, k, options, cut, status)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in) :: root
    type(spmm_csr), intent(in) :: a
    integer(c_int), intent(in) :: by
    integer(c_int64_t), intent(in) :: k
    type(spmm_plan_options), intent(in) :: options
    type(spmm_cut), intent(out) :: cut
    integer(c_int), intent(out) :: status
    status = c_cut_create(int(comm%MPI_VAL, c_int), root, a, by, k, options, cut)
  end subroutine

  subroutine spmm_cut_scatter(comm, root, a, cut, block, status)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in) :: root
    type(spmm_csr), intent(in) :: a
    type(spmm_cut), intent(in) :: cut
    type(spmm_block), intent(out) :: block
    integer(c_int), intent(out) :: status
    status = c_cut_scatter(int(comm%MPI_VAL, c_int), root, a, cut, block)
  end subroutine

  subroutine spmm_cut_destroy(cut)
    type(spmm_cut), intent(inout) :: cut
    call c_cut_destroy(cut)
  end subroutine

  subroutine spmm_block_from_rows(comm, rows, x_rows, precision, part, block, status)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int64_t), intent(in) :: rows, x_rows
    integer(c_int), intent(in) :: precision
    type(spmm_rows), intent(in) :: part(:)
    type(spmm_block), intent(out) :: block
    integer(c_int), intent(out) :: status
    status = c_block_from_rows(int(comm%MPI_VAL, c_int), rows, x_rows, precision, part, size(part, kind=c_int), block)
  end subroutine

  subroutine spmm_block_destroy(block)
    type(spmm_block), intent(inout) :: block
    call c_block_destroy(block)
  end subroutine

  ! ---- the GPU ----

  subroutine spmm_device_open(comm, status)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out) :: status
    status = c_device_open(int(comm%MPI_VAL, c_int))
  end subroutine

  subroutine spmm_device_close()
    call c_device_close()
  end subroutine

  ! ---- multivectors ----

  subroutine spmm_multivector_create(rows, k, precision, space, v, status)
    integer(c_int64_t), intent(in) :: rows, k
    integer(c_int), intent(in) :: precision, space
    type(spmm_multivector), intent(out) :: v
    integer(c_int), intent(out) :: status
    status = c_multivector_create(rows, k, precision, space, v)
  end subroutine

  subroutine spmm_multivector_destroy(v)
    type(spmm_multivector), intent(inout) :: v
    call c_multivector_destroy(v)
  end subroutine

  subroutine spmm_multivector_copy(src, dst, status)
    type(spmm_multivector), intent(in) :: src
    type(spmm_multivector), intent(inout) :: dst
    integer(c_int), intent(out) :: status
    status = c_multivector_copy(src, dst)
  end subroutine

  ! g(ky, kx) or larger; intent(inout), because elements beyond these ky rows and kx columns keep their values
  subroutine spmm_multivector_dot(comm, x, y, g, status)
    type(MPI_Comm), intent(in) :: comm
    type(spmm_multivector), intent(in) :: x, y
    real(c_double), intent(inout), target, contiguous :: g(:, :)
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr ! a null pointer is refused on all ranks
    if (size(g, 2, c_int64_t) >= x%k .and. size(g) > 0) place = c_loc(g)
    status = c_multivector_dot(int(comm%MPI_VAL, c_int), x, y, place, size(g, 1, c_int64_t))
  end subroutine

  subroutine spmm_multivector_dot_complex(comm, x, y, g, status)
    type(MPI_Comm), intent(in) :: comm
    type(spmm_multivector), intent(in) :: x, y
    complex(c_double_complex), intent(inout), target, contiguous :: g(:, :)
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr ! a null pointer is refused on all ranks
    if (size(g, 2, c_int64_t) >= x%k .and. size(g) > 0) place = c_loc(g)
    status = c_multivector_dot_complex(int(comm%MPI_VAL, c_int), x, y, place, size(g, 1, c_int64_t))
  end subroutine

  subroutine spmm_multivector_norms(comm, x, norm, status)
    type(MPI_Comm), intent(in) :: comm
    type(spmm_multivector), intent(in) :: x
    real(c_double), intent(inout), target, contiguous :: norm(:)
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(norm, kind=c_int64_t) >= x%k .and. size(norm) > 0) place = c_loc(norm)
    status = c_multivector_norms(int(comm%MPI_VAL, c_int), x, place)
  end subroutine

  ! r(L, K) or larger
  subroutine spmm_multivector_times(alpha, x, r, beta, y, status)
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    real(c_double), intent(in), target, contiguous :: r(:, :)
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(r, 2, c_int64_t) >= x%k .and. size(r) > 0) place = c_loc(r)
    status = c_multivector_times(alpha, x, place, size(r, 1, c_int64_t), beta, y)
  end subroutine

  subroutine spmm_multivector_times_complex(alpha, x, r, beta, y, status)
    complex(c_double_complex), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    complex(c_double_complex), intent(in), target, contiguous :: r(:, :)
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(r, 2, c_int64_t) >= x%k .and. size(r) > 0) place = c_loc(r)
    status = c_multivector_times_complex(alpha, x, place, size(r, 1, c_int64_t), beta, y)
  end subroutine

  subroutine spmm_rows_apply(a, alpha, x, beta, y, threads, status)
    type(spmm_rows), intent(in) :: a
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(in) :: threads
    integer(c_int), intent(out) :: status
    status = c_rows_apply(a, alpha, x, beta, y, threads)
  end subroutine

  subroutine spmm_multivector_axpby(alpha, x, beta, y, status)
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_multivector_axpby(alpha, x, beta, y)
  end subroutine

  subroutine spmm_multivector_axpby_complex(alpha, x, beta, y, status)
    complex(c_double_complex), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_multivector_axpby_complex(alpha, x, beta, y)
  end subroutine

  subroutine spmm_multivector_scale(factor, x, status)
    real(c_double), intent(in), target, contiguous :: factor(:)
    type(spmm_multivector), intent(inout) :: x
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(factor, kind=c_int64_t) >= x%k .and. size(factor) > 0) place = c_loc(factor)
    status = c_multivector_scale(place, x)
  end subroutine

  subroutine spmm_multivector_scale_complex(factor, x, status)
    complex(c_double_complex), intent(in), target, contiguous :: factor(:)
    type(spmm_multivector), intent(inout) :: x
    integer(c_int), intent(out) :: status
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(factor, kind=c_int64_t) >= x%k .and. size(factor) > 0) place = c_loc(factor)
    status = c_multivector_scale_complex(place, x)
  end subroutine

  subroutine spmm_multivector_scale_rows(d, x, status)
    type(spmm_multivector), intent(in) :: d
    type(spmm_multivector), intent(inout) :: x
    integer(c_int), intent(out) :: status
    status = c_multivector_scale_rows(d, x)
  end subroutine

  subroutine multivector_pointer_f64(v, p, status)
    type(spmm_multivector), intent(in) :: v
    real(real64), pointer, intent(out) :: p(:, :)
    integer(c_int), intent(out) :: status
    nullify (p)
    status = pointable(v, SPMM_F64, "real64")
    if (status /= SPMM_OK) return
    if (v%rows == 0) then
      p(1:v%ld, 1:0) => nothing_f64
    else
      call c_f_pointer(v%data, p, [v%ld, v%rows])
    end if
  end subroutine

  subroutine multivector_pointer_f32(v, p, status)
    type(spmm_multivector), intent(in) :: v
    real(real32), pointer, intent(out) :: p(:, :)
    integer(c_int), intent(out) :: status
    nullify (p)
    status = pointable(v, SPMM_F32, "real32")
    if (status /= SPMM_OK) return
    if (v%rows == 0) then
      p(1:v%ld, 1:0) => nothing_f32
    else
      call c_f_pointer(v%data, p, [v%ld, v%rows])
    end if
  end subroutine

  subroutine multivector_pointer_c128(v, p, status)
    type(spmm_multivector), intent(in) :: v
    complex(real64), pointer, intent(out) :: p(:, :)
    integer(c_int), intent(out) :: status
    nullify (p)
    status = pointable(v, SPMM_C128, "complex(real64)")
    if (status /= SPMM_OK) return
    if (v%rows == 0) then
      p(1:v%ld, 1:0) => nothing_c128
    else
      call c_f_pointer(v%data, p, [v%ld, v%rows])
    end if
  end subroutine

  subroutine multivector_pointer_c64(v, p, status)
    type(spmm_multivector), intent(in) :: v
    complex(real32), pointer, intent(out) :: p(:, :)
    integer(c_int), intent(out) :: status
    nullify (p)
    status = pointable(v, SPMM_C64, "complex(real32)")
    if (status /= SPMM_OK) return
    if (v%rows == 0) then
      p(1:v%ld, 1:0) => nothing_c64
    else
      call c_f_pointer(v%data, p, [v%ld, v%rows])
    end if
  end subroutine

  function pointable(v, precision, kind) result(status)
    type(spmm_multivector), intent(in) :: v
    integer(c_int), intent(in) :: precision
    character(*), intent(in) :: kind
    integer(c_int) :: status
    status = SPMM_OK
    if (v%space /= SPMM_CPU) then
      status = usage("spmm_multivector_pointer: v is not in host memory; spmm_multivector_copy() copies it there")
    else if (v%precision /= precision) then
      status = usage("spmm_multivector_pointer: p is a pointer to " // kind // ", but v has elements of another type")
    else if (v%rows > 0 .and. .not. c_associated(v%data)) then
      status = usage("spmm_multivector_pointer: v has no data")
    end if
  end function

  ! ---- plans ----

  ! options: absent for the defaults. kernel: the name of a kernel; absent for o%kernel of `options`.
  subroutine spmm_plan_create(comm, block, k, plan, status, options, kernel)
    type(MPI_Comm), intent(in) :: comm
    type(spmm_block), intent(in), target :: block
    integer(c_int64_t), intent(in) :: k
    type(spmm_plan), intent(out) :: plan
    integer(c_int), intent(out) :: status
    type(spmm_plan_options), intent(in), optional :: options
    character(*), intent(in), optional :: kernel
    type(spmm_plan_options) :: o
    character(kind=c_char), allocatable, target :: name(:)
    if (present(options)) o = options
    if (present(kernel)) call use_kernel(kernel, name, o)
    status = c_plan_create(int(comm%MPI_VAL, c_int), block, k, o, plan%handle)
  end subroutine

  subroutine spmm_plan_create_extended(comm, block, k, plan, status, options, kernel, study)
    type(MPI_Comm), intent(in) :: comm
    type(spmm_block), intent(in), target :: block
    integer(c_int64_t), intent(in) :: k
    type(spmm_plan), intent(out) :: plan
    integer(c_int), intent(out) :: status
    type(spmm_plan_options), intent(in), optional :: options
    character(*), intent(in), optional :: kernel
    type(spmm_plan_study), intent(in), optional :: study
    type(spmm_plan_options) :: o
    type(spmm_plan_study) :: s
    character(kind=c_char), allocatable, target :: name(:)
    if (present(options)) o = options
    if (present(study)) s = study
    if (present(kernel)) call use_kernel(kernel, name, o)
    status = c_plan_create_extended(int(comm%MPI_VAL, c_int), block, k, o, s, plan%handle)
  end subroutine

  ! Sets o%kernel to the name of a kernel, zero-terminated in `name`.
  subroutine use_kernel(kernel, name, o)
    character(*), intent(in) :: kernel
    character(kind=c_char), allocatable, target, intent(out) :: name(:)
    type(spmm_plan_options), intent(inout) :: o
    name = transfer(c_name(kernel), [c_null_char])
    o%kernel = c_loc(name)
  end subroutine

  subroutine spmm_plan_destroy(plan)
    type(spmm_plan), intent(inout) :: plan
    call c_plan_destroy(plan%handle)
    plan%handle = c_null_ptr
  end subroutine

  function spmm_plan_kernel(plan) result(name)
    type(spmm_plan), intent(in) :: plan
    character(:), allocatable :: name
    name = text_of(c_plan_kernel(plan%handle))
  end function

  subroutine spmm_plan_view(plan, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int), intent(out) :: status
    status = c_plan_view(plan%handle)
  end subroutine

  ! text: on rank 0, the text that spmm_plan_view() prints; empty on other ranks, and on failure
  subroutine spmm_plan_view_text(plan, text, status)
    type(spmm_plan), intent(in) :: plan
    character(:), allocatable, intent(out) :: text
    integer(c_int), intent(out) :: status
    type(c_ptr) :: said
    status = c_plan_view_text(plan%handle, said)
    text = ""
    if (c_associated(said)) text = text_of(said)
    call c_free(said)
  end subroutine

  subroutine spmm_plan_diagonal(plan, d, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_multivector), intent(inout) :: d
    integer(c_int), intent(out) :: status
    status = c_plan_diagonal(plan%handle, d)
  end subroutine

  subroutine spmm_plan_x_create(plan, x, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_multivector), intent(out) :: x
    integer(c_int), intent(out) :: status
    status = c_plan_x_create(plan%handle, x)
  end subroutine

  subroutine spmm_plan_y_create(plan, y, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_multivector), intent(out) :: y
    integer(c_int), intent(out) :: status
    status = c_plan_y_create(plan%handle, y)
  end subroutine

  ! products that follow have k columns, 0 to the k of spmm_plan_create()
  subroutine spmm_plan_set_k(plan, k, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int64_t), intent(in) :: k
    integer(c_int), intent(out) :: status
    status = c_plan_set_k(plan%handle, k)
  end subroutine

  subroutine spmm_plan_x_create_k(plan, k, x, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int64_t), intent(in) :: k
    type(spmm_multivector), intent(out) :: x
    integer(c_int), intent(out) :: status
    status = c_plan_x_create_k(plan%handle, k, x)
  end subroutine

  subroutine spmm_plan_y_create_k(plan, k, y, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int64_t), intent(in) :: k
    type(spmm_multivector), intent(out) :: y
    integer(c_int), intent(out) :: status
    status = c_plan_y_create_k(plan%handle, k, y)
  end subroutine

  subroutine spmm_plan_update_values(plan, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int), intent(out) :: status
    status = c_plan_update_values(plan%handle)
  end subroutine

  ! same: .false. if the pattern of `a` is not the plan's on some rank, or on failure
  subroutine spmm_plan_update_rows(plan, a, same, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_rows), intent(in) :: a
    logical, intent(out) :: same
    integer(c_int), intent(out) :: status
    integer(c_int) :: answer
    answer = 0
    status = c_plan_update_rows(plan%handle, a, answer)
    same = status == SPMM_OK .and. answer == 1
  end subroutine

  ! y := A x with the values of `a`; same: as above
  subroutine spmm_apply_rows(plan, a, x, y, same, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_rows), intent(in) :: a
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    logical, intent(out) :: same
    integer(c_int), intent(out) :: status
    integer(c_int) :: answer
    answer = 0
    status = c_apply_rows(plan%handle, a, x, y, answer)
    same = status == SPMM_OK .and. answer == 1
  end subroutine

  ! values: one column, as many rows as the block has entries
  subroutine spmm_plan_values_gradient(plan, g, x, values, status)
    type(spmm_plan), intent(in) :: plan
    type(spmm_multivector), intent(in) :: g, x
    type(spmm_multivector), intent(inout) :: values
    integer(c_int), intent(out) :: status
    status = c_plan_values_gradient(plan%handle, g, x, values)
  end subroutine

  ! stream: as the member of spmm_plan_options
  subroutine spmm_plan_set_stream(plan, stream, status)
    type(spmm_plan), intent(in) :: plan
    type(c_ptr), intent(in) :: stream
    integer(c_int), intent(out) :: status
    status = c_plan_set_stream(plan%handle, stream)
  end subroutine

  ! Y := alpha A X + beta Y
  subroutine spmm_apply(plan, alpha, x, beta, y, status)
    type(spmm_plan), intent(in) :: plan
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_apply(plan%handle, alpha, x, beta, y)
  end subroutine

  ! begins Y := alpha A X + beta Y. The arrays of x and y must not change until spmm_apply_end(): give them
  ! the attribute asynchronous. (The variables x and y themselves may be changed or go out of scope.)
  subroutine spmm_apply_begin(plan, alpha, x, beta, y, status)
    type(spmm_plan), intent(in) :: plan
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_apply_begin(plan%handle, alpha, x, beta, y)
  end subroutine

  subroutine spmm_apply_end(plan, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int), intent(out) :: status
    status = c_apply_end(plan%handle)
  end subroutine

  ! Y := alpha A^T X + beta Y
  subroutine spmm_apply_transposed(plan, alpha, x, beta, y, status)
    type(spmm_plan), intent(in) :: plan
    real(c_double), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_apply_transposed(plan%handle, alpha, x, beta, y)
  end subroutine

  ! Y := alpha op(A) X + beta Y
  subroutine spmm_apply_complex(plan, op, alpha, x, beta, y, status)
    type(spmm_plan), intent(in) :: plan
    integer(c_int), intent(in) :: op
    complex(c_double_complex), intent(in) :: alpha, beta
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    integer(c_int), intent(out) :: status
    status = c_apply_complex(plan%handle, op, alpha, x, beta, y)
  end subroutine
end module spmm
