! Calls every function of the module, with valid arguments and with each argument wrong (tests/test_fortran.sh).
! Prints a PASS or FAIL line for each sentence, on rank 0: PASS if the sentence is true on all ranks.
program calls
  use, intrinsic :: ieee_exceptions
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use mpi_f08
  use spmm
  implicit none
  integer :: rank, ranks
  integer(c_int) :: status
  character(:), allocatable :: file

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  ! invalid operations, divisions by zero and overflows end the program: the library causes none
  call ieee_set_halting_mode(ieee_usual, .true.)
  call get_file()
  call texts()
  call matrices()
  call triplets()
  call scattering()
  call cutting()
  call multivectors()
  call pointers()
  call dense()
  call block_of_rows()
  call product_at_once()
  call plans()
  call wrong_plans()
  call products()
  call wrong_products()
  call complex_values()
  call device()
  call ieee_set_halting_mode(ieee_usual, .false.)
  call MPI_Finalize()

contains

  subroutine get_file()
    integer :: length
    call get_command_argument(1, length=length)
    allocate (character(length) :: file)
    call get_command_argument(1, file)
  end subroutine

  subroutine check(sentence, ok)
    character(*), intent(in) :: sentence
    logical, intent(in) :: ok
    logical :: all_ok
    if (.not. ok) print '(a,i0,4a)', "  rank ", rank, ": status ", spmm_status_string(status), ", message ", spmm_error_message()
    call MPI_Allreduce(ok, all_ok, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    if (rank == 0) print '(2a)', merge("PASS ", "FAIL ", all_ok), sentence
  end subroutine

  ! Checks that the last call failed with status `expected` and a message that contains `words`.
  subroutine fails(sentence, expected, words)
    character(*), intent(in) :: sentence, words
    integer(c_int), intent(in) :: expected
    call check(sentence // merge(": ", "  ", len(words) > 0) // words, status == expected .and. &
               index(spmm_error_message(), words) > 0)
  end subroutine

  subroutine texts()
    integer(c_int) :: major, minor, patch
    character(20) :: numbers
    numbers = spmm_version(major, minor, patch)
    call check("the library has a version", index(numbers, ".") > 0 .and. numbers == spmm_version())
    write (numbers, '(i0,".",i0,".",i0)') major, minor, patch
    call check("which is of three numbers", index(spmm_version(minor=minor), trim(numbers)) == 1)
    call check("a status has a text", spmm_status_string(SPMM_OK) == "success" .and. &
               spmm_status_string(SPMM_ERR_USAGE) == "invalid argument")
    call check("and so has one that is none", len(spmm_status_string(99)) > 0)
    status = SPMM_OK
    call check("before a failure there is no message", len(spmm_error_message()) == 0)
  end subroutine

  ! Writes the file on rank 0, before any rank reads it.
  subroutine write_edges(name)
    character(*), intent(in) :: name
    integer :: unit
    if (rank == 0) then
      open(newunit=unit, file=name, status="replace", action="write")
      write (unit, '(a)') "# a graph", "1 2", "2 3"
      close(unit)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine matrices()
    type(spmm_csr) :: a, b
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    real(real64), pointer :: as(:)
    real(real32), pointer :: as32(:)
    call spmm_csr_read(file // "   ", SPMM_F64, a, status)
    call check("a file is read; blanks after its name do not count", status == SPMM_OK .and. a%rows == 3 .and. a%nnz == 4)
    call spmm_csr_pointers(a, irp, ja, as, status)
    call check("arrays of a matrix are pointed to", status == SPMM_OK .and. all(irp == [0, 1, 3, 4]) .and. &
               all(ja == [0, 0, 1, 2]) .and. all(abs(as - [1.0_real64, 2.0_real64, 3.0_real64, 4.0_real64]) < 1e-14_real64))
    call spmm_csr_pointers(a, irp, ja, as32, status)
    call fails("values of another kind are not pointed to", SPMM_ERR_USAGE, "spmm_csr_pointers: as is a pointer to real32")
    call check("and pointers are null then", .not. associated(irp) .and. .not. associated(ja) .and. .not. associated(as32))
    call spmm_csr_destroy(a)
    call check("a destroyed matrix is zeros", a%rows == 0 .and. .not. c_associated(a%irp))
    call spmm_csr_pointers(a, irp, ja, as, status)
    call fails("which have no arrays", SPMM_ERR_USAGE, "spmm_csr_pointers: a has no arrays")
    call spmm_csr_destroy(a)
    call spmm_csr_read_edges("missing.txt", 1, SPMM_F64, b, status)
    call fails("a missing edge list", SPMM_ERR_OPEN, "missing.txt")
    call spmm_csr_read_edges("missing.txt", 2, SPMM_F64, b, status)
    call fails("a base that is none", SPMM_ERR_USAGE, "spmm_csr_read_edges: base is 2")
    call write_edges("edges.txt")
    call spmm_csr_read_edges("edges.txt ", 1, SPMM_F64, a, status)
    call check("an edge list is read", status == SPMM_OK .and. a%rows == 3 .and. a%cols == 3 .and. a%nnz == 2)
    call spmm_csr_pointers(a, irp, ja, as, status)
    call check("with its edges", all(irp == [0, 1, 2, 2]) .and. all(ja == [1, 2]) .and. all(abs(as - 1) < 1e-14_real64))
    call spmm_csr_destroy(a)
    call spmm_csr_read("missing.mtx", SPMM_F64, b, status)
    call fails("a missing file", SPMM_ERR_OPEN, "missing.mtx")
    call spmm_csr_read(file // c_null_char // "x", SPMM_F64, b, status)
    call fails("a name that begins with that of a file and a null character", SPMM_ERR_OPEN, "?x")
    call spmm_csr_read_edges("edges.txt" // c_null_char, 1, SPMM_F64, b, status)
    call fails("a list's name that ends with one", SPMM_ERR_OPEN, "edges.txt?")
    call spmm_csr_generate("lap2d5:4" // c_null_char // "0", SPMM_F64, b, status)
    call fails("a generator with one", SPMM_ERR_USAGE, "lap2d5:4?0")
    call spmm_csr_read(file, 7, b, status)
    call fails("a precision that is none", SPMM_ERR_USAGE, "spmm_csr_read: precision")
    call spmm_csr_generate("lap2d5:4 ", SPMM_F32, a, status)
    call check("a matrix is generated", status == SPMM_OK .and. a%rows == 16 .and. a%precision == SPMM_F32)
    call spmm_csr_pointers(a, irp, ja, as32, status)
    call check("and its values are pointed to", status == SPMM_OK .and. abs(sum(as32) - 16) < 1e-5)
    call spmm_csr_destroy(a)
    call spmm_csr_generate("lap9", SPMM_F64, a, status)
    call fails("a generator that is none", SPMM_ERR_USAGE, "lap9")
    call spmm_csr_generate("lap2d5:4", -1, a, status)
    call fails("generated in a precision that is none", SPMM_ERR_USAGE, "spmm_csr_generate: precision")
    call check("a matrix that failed is zeros", a%rows == 0 .and. .not. c_associated(a%as))
  end subroutine

  subroutine triplets()
    type(spmm_csr) :: a
    integer(c_int64_t) :: i(6), none(0)
    real(real64), pointer :: as(:)
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    i = [1, 7, 0, 7, 1, 7]
    call spmm_csr_from_triplets(2_int64, 3_int64, i(1:5:2), [0_int64, 2_int64, 0_int64], SPMM_F64, a, status, &
                                val=[1.0_real64, 5.0_real64, 2.0_real64])
    call check("triplets make a matrix, of parts of arrays, too", status == SPMM_OK .and. a%nnz == 2)
    call spmm_csr_pointers(a, irp, ja, as, status)
    call check("whose doubles are added", all(abs(as - [5.0_real64, 3.0_real64]) < 1e-14_real64))
    call spmm_csr_destroy(a)
    call spmm_csr_from_triplets(2_int64, 3_int64, [1_int64], [2_int64], SPMM_F64, a, status)
    call spmm_csr_pointers(a, irp, ja, as, status)
    call check("without values they are 1", size(as) == 1 .and. abs(as(1) - 1) < 1e-14_real64)
    call spmm_csr_destroy(a)
    call spmm_csr_from_triplets(2_int64, 3_int64, none, none, SPMM_F64, a, status)
    call check("without triplets the matrix is empty", status == SPMM_OK .and. a%rows == 2 .and. a%nnz == 0)
    call spmm_csr_destroy(a)
    call spmm_csr_from_triplets(-1_int64, 3_int64, none, none, SPMM_F64, a, status)
    call fails("a negative size", SPMM_ERR_USAGE, "-1 x 3")
    call spmm_csr_from_triplets(2_int64, -1_int64, none, none, SPMM_F64, a, status)
    call fails("and another", SPMM_ERR_USAGE, "2 x -1")
    call spmm_csr_from_triplets(2_int64, 3_int64, [2_int64], [0_int64], SPMM_F64, a, status)
    call fails("a row index beyond the matrix", SPMM_ERR_USAGE, "2")
    call spmm_csr_from_triplets(2_int64, 3_int64, [0_int64], [3_int64], SPMM_F64, a, status)
    call fails("a column index beyond the matrix", SPMM_ERR_USAGE, "3")
    call spmm_csr_from_triplets(2_int64, 3_int64, [0_int64], [1_int64, 2_int64], SPMM_F64, a, status)
    call fails("more column indices than row indices", SPMM_ERR_USAGE, "differ in size")
    call spmm_csr_from_triplets(2_int64, 3_int64, [0_int64], [1_int64], SPMM_F64, a, status, &
                                val=[1.0_real64, 2.0_real64])
    call fails("more values than indices", SPMM_ERR_USAGE, "differ in size")
    call spmm_csr_from_triplets(2_int64, 3_int64, none, none, 9, a, status)
    call fails("triplets in a precision that is none", SPMM_ERR_USAGE, "spmm_csr_from_triplets: precision")
  end subroutine

  ! A Hermitian matrix [[2, -i], [i, 3]] on rank 0, and one column of X.
  subroutine complex_values()
    type(spmm_csr) :: a
    type(spmm_block) :: block
    type(spmm_plan) :: plan
    type(spmm_multivector) :: x, y
    integer(c_int64_t) :: i(4), none(0)
    complex(real64) :: one(1, 1)
    complex(real64), pointer :: as(:), px(:, :), py(:, :)
    complex(real32), pointer :: as64(:), p64(:, :)
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    real(real64) :: norm(1)
    complex, parameter :: of_one(2) = (0, 1) * [(3, 1), (2, 4)] ! i A X for an X of 1 + i
    complex, parameter :: of_both(2) = [2 * of_one(1) + (0, -1) * of_one(2), (0, 1) * of_one(1) + 3 * of_one(2)]
    i = [0, 0, 1, 1]
    call spmm_csr_from_triplets_complex(2_int64, 2_int64, i, [0_int64, 1_int64, 0_int64, 1_int64], &
                                        [(2.0_real64, 0.0_real64), (0.0_real64, -1.0_real64), (0.0_real64, 1.0_real64), &
                                         (3.0_real64, 0.0_real64)], SPMM_C128, a, status)
    call check("complex triplets make a matrix", status == SPMM_OK .and. a%nnz == 4 .and. a%precision == SPMM_C128)
    call spmm_csr_pointers(a, irp, ja, as, status)
    call check("whose values are pointed to", status == SPMM_OK .and. abs(as(3) - (0, 1)) < 1e-14_real64)
    call spmm_csr_pointers(a, irp, ja, as64, status)
    call fails("but not those of another kind", SPMM_ERR_USAGE, "complex(real32)")
    call spmm_csr_scatter(MPI_COMM_WORLD, 0, a, 0, 0, block, status)
    call spmm_plan_create(MPI_COMM_WORLD, block, 1_int64, plan, status)
    call spmm_plan_x_create(plan, x, status)
    call spmm_plan_y_create(plan, y, status)
    call spmm_multivector_pointer(x, px, status)
    call check("complex rows are pointed to", status == SPMM_OK .and. size(px, 2) == x%rows)
    call spmm_multivector_pointer(x, p64, status)
    call fails("but not rows of another kind", SPMM_ERR_USAGE, "complex(real32)")
    call spmm_multivector_pointer(y, py, status)
    px = (1, 1)
    call spmm_apply_complex(plan, SPMM_NO_TRANSPOSE, (0.0_real64, 1.0_real64), x, (0.0_real64, 0.0_real64), y, status)
    call check("i A X is right", status == SPMM_OK .and. rows_are(py, block%row_begin, of_one))
    call spmm_apply_complex(plan, SPMM_CONJUGATE_TRANSPOSE, (1.0_real64, 0.0_real64), y, (0.0_real64, 0.0_real64), x, status)
    call check("and A^H of it", status == SPMM_OK .and. rows_are(px, block%x_begin, of_both))
    call spmm_apply_complex(plan, 3, (1.0_real64, 0.0_real64), x, (0.0_real64, 0.0_real64), y, status)
    call fails("an operation that is none", SPMM_ERR_USAGE, "spmm_apply_complex: op is 3")
    call spmm_multivector_dot_complex(MPI_COMM_WORLD, x, x, one, status)
    call spmm_multivector_norms(MPI_COMM_WORLD, x, norm, status)
    call check("X^H X is the square of the norm", status == SPMM_OK .and. abs(one(1, 1) - norm(1)**2) < 1e-10_real64)
    one = (0, 1)
    call spmm_multivector_times_complex((2.0_real64, 0.0_real64), x, one, (0.0_real64, 0.0_real64), x, status)
    call check("X R", status == SPMM_OK)
    call spmm_multivector_axpby_complex((0.0_real64, -1.0_real64), x, (0.0_real64, 0.0_real64), x, status)
    call check("a sum", status == SPMM_OK)
    call spmm_multivector_scale_complex([(0.5_real64, 0.0_real64)], x, status)
    call check("and scaled columns are right", status == SPMM_OK .and. rows_are(px, block%x_begin, of_both))
    call spmm_csr_from_triplets_complex(2_int64, 2_int64, none, none, [(1.0_real64, 0.0_real64)], SPMM_C128, a, status)
    call fails("more complex values than indices", SPMM_ERR_USAGE, "differ in size")
    call spmm_csr_from_triplets_complex(2_int64, 2_int64, none, none, [complex(real64) ::], SPMM_F64, a, status)
    call fails("complex values of a real matrix", SPMM_ERR_USAGE, "precision is f64, expected a complex type")
    call spmm_plan_destroy(plan)
    call spmm_block_destroy(block)
    call spmm_multivector_destroy(x)
    call spmm_multivector_destroy(y)
  end subroutine

  ! Whether rows of a vector, the first of which is row `first` of the whole one, have these values.
  logical function rows_are(p, first, whole)
    complex(real64), intent(in) :: p(:, :)
    integer(c_int64_t), intent(in) :: first
    complex, intent(in) :: whole(2)
    integer :: row
    rows_are = .true.
    do row = 1, size(p, 2)
      rows_are = rows_are .and. abs(p(1, row) - whole(first + row)) < 1e-10_real64
    end do
  end function

  subroutine scattering()
    type(spmm_csr) :: a
    type(spmm_block) :: block
    integer(int64) :: rows
    if (rank == ranks - 1) call spmm_csr_generate("lap2d5:10", SPMM_F64, a, status)
    call spmm_csr_scatter(MPI_COMM_WORLD, ranks - 1, a, 0, 0, block, status)
    call MPI_Allreduce(block%csr%rows, rows, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call check("a matrix is scattered from the last rank", status == SPMM_OK .and. rows == 100 .and. block%p == ranks)
    call spmm_block_destroy(block)
    call check("a destroyed block is zeros", block%rows == 0 .and. .not. c_associated(block%csr%ja))
    call spmm_csr_scatter(MPI_COMM_NULL, 0, a, 0, 0, block, status)
    call fails("no communicator", SPMM_ERR_USAGE, "spmm_csr_scatter: comm")
    call spmm_csr_scatter(MPI_COMM_WORLD, ranks, a, 0, 0, block, status)
    call fails("a root that is no rank", SPMM_ERR_USAGE, "spmm_csr_scatter: root")
    call spmm_csr_scatter(MPI_COMM_WORLD, ranks - 1, a, ranks + 1, 1, block, status)
    call fails("a grid of other numbers of ranks", SPMM_ERR_USAGE, "grid ")
    call spmm_csr_scatter(MPI_COMM_WORLD, ranks - 1, a, ranks, -1, block, status)
    call fails("a grid that is none", SPMM_ERR_USAGE, "x-1: expected at least 1x1")
    call spmm_csr_destroy(a)
    a%rows = 3
    call spmm_csr_scatter(MPI_COMM_WORLD, 0, a, 0, 0, block, status)
    call fails("rows without arrays", SPMM_ERR_USAGE, "spmm_csr_scatter: a")
    call check("a block that failed is zeros", block%p == 0 .and. .not. c_associated(block%csr%ja))
  end subroutine

  subroutine cutting()
    type(spmm_csr) :: a
    type(spmm_cut) :: cut
    type(spmm_block) :: block
    integer(int64), pointer :: row(:)
    integer(int64) :: rows, numbers
    if (rank == ranks - 1) call spmm_csr_generate("lap2d5:10", SPMM_F64, a, status)
    call spmm_cut_create(MPI_COMM_WORLD, ranks - 1, a, SPMM_CUT_LAYOUT, 3_int64, spmm_plan_options(), cut, status)
    call check("a matrix is cut by a layout", status == SPMM_OK .and. cut%by == SPMM_CUT_LAYOUT .and. cut%ranks == ranks)
    call c_f_pointer(cut%row, row, [cut%row_count])
    call MPI_Allreduce(sum(row), numbers, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call check("each row is on one rank", cut%rows == 100 .and. numbers == 4950)
    call spmm_cut_scatter(MPI_COMM_WORLD, ranks - 1, a, cut, block, status)
    call MPI_Allreduce(block%csr%rows, rows, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call check("and scattered so", status == SPMM_OK .and. rows == 100 .and. block%any_order == 1)
    call spmm_block_destroy(block)
    call spmm_cut_destroy(cut)
    call check("a destroyed cut is zeros", cut%rows == 0 .and. .not. c_associated(cut%row))
    call spmm_cut_create(MPI_COMM_WORLD, ranks - 1, a, -1, 3_int64, spmm_plan_options(), cut, status)
    call fails("a cut that is none", SPMM_ERR_USAGE, "spmm_cut_create: by")
    call spmm_cut_scatter(MPI_COMM_WORLD, ranks - 1, a, cut, block, status)
    call fails("a scatter by it", SPMM_ERR_USAGE, "spmm_cut_scatter: cut is of 0 ranks")
    call spmm_csr_destroy(a)
  end subroutine

  subroutine multivectors()
    type(spmm_multivector) :: u, v
    real(real64), pointer :: p(:, :)
    real(real64), target :: own(5, 4)
    call spmm_multivector_create(4_int64, 3_int64, SPMM_F64, SPMM_CPU, v, status)
    call spmm_multivector_pointer(v, p, status)
    call check("a multivector is an array (ld, rows)", status == SPMM_OK .and. all(shape(p) == [int(v%ld), 4]))
    call check("of zeros", .not. any(abs(p) > 0))
    own = reshape([1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 7, 8, 9, 0, 0, 10, 11, 12, 0, 0], [5, 4])
    u%rows = 4
    u%k = 3
    u%ld = size(own, 1)
    u%data = c_loc(own)
    call spmm_multivector_copy(u, v, status)
    call check("a program's own array is copied into it", status == SPMM_OK .and. .not. any(abs(p(:3, :) - own(:3, :)) > 0))
    call spmm_multivector_copy(v, v, status)
    call fails("a copy to itself", SPMM_ERR_USAGE, "spmm_multivector_copy: ")
    u%rows = 3
    call spmm_multivector_copy(u, v, status)
    call fails("a copy to one of other rows", SPMM_ERR_USAGE, "spmm_multivector_copy: ")
    u = spmm_multivector()
    call spmm_multivector_copy(v, u, status)
    call fails("a copy to nothing", SPMM_ERR_USAGE, "spmm_multivector_copy: ")
    call spmm_multivector_destroy(v)
    call check("a destroyed multivector is zeros", v%rows == 0 .and. .not. c_associated(v%data))
    call spmm_multivector_create(-1_int64, 3_int64, SPMM_F64, SPMM_CPU, v, status)
    call fails("negative rows", SPMM_ERR_USAGE, "-1 x 3: expected rows")
    call spmm_multivector_create(4_int64, -1_int64, SPMM_F64, SPMM_CPU, v, status)
    call fails("negative columns", SPMM_ERR_USAGE, "4 x -1: expected rows")
    call spmm_multivector_create(4_int64, 3_int64, 9, SPMM_CPU, v, status)
    call fails("a multivector in a precision that is none", SPMM_ERR_USAGE, "spmm_multivector_create: precision")
    call spmm_multivector_create(4_int64, 3_int64, SPMM_F64, 9, v, status)
    call fails("a space that is none", SPMM_ERR_USAGE, "spmm_multivector_create: space")
    call spmm_multivector_create(4_int64, 3_int64, SPMM_F64, SPMM_CUDA, v, status)
    call fails("memory of a GPU that is not open", SPMM_ERR_NO_DEVICE, "")
  end subroutine

  subroutine pointers()
    type(spmm_multivector) :: v
    real(real64), pointer :: p(:, :)
    real(real32), pointer :: s(:, :)
    call spmm_multivector_create(0_int64, 3_int64, SPMM_F64, SPMM_CPU, v, status)
    call spmm_multivector_pointer(v, p, status)
    call check("one without rows is an array without any", status == SPMM_OK .and. size(p, 2) == 0)
    call spmm_multivector_pointer(v, s, status)
    call fails("elements of another kind", SPMM_ERR_USAGE, "spmm_multivector_pointer: p is a pointer to real32")
    call check("are not pointed to", .not. associated(s))
    call spmm_multivector_destroy(v)
    call spmm_multivector_create(2_int64, 1_int64, SPMM_F32, SPMM_CPU, v, status)
    call spmm_multivector_pointer(v, s, status)
    call check("f32 is real32", status == SPMM_OK .and. all(shape(s) == [1, 2]))
    call spmm_multivector_pointer(v, p, status)
    call fails("and not the other", SPMM_ERR_USAGE, "spmm_multivector_pointer: p is a pointer to real64")
    call spmm_multivector_destroy(v)
    v%rows = 2
    call spmm_multivector_pointer(v, p, status)
    call fails("rows without data", SPMM_ERR_USAGE, "spmm_multivector_pointer: v has no data")
    v%space = SPMM_CUDA
    call spmm_multivector_pointer(v, p, status)
    call fails("memory of a GPU", SPMM_ERR_USAGE, "spmm_multivector_pointer: v is not in host memory")
  end subroutine

  ! x and y have 3 rows on each rank: (1, 2) in x and (r, -1) in y, where r is the rank's number, from 1.
  subroutine dense()
    type(spmm_multivector) :: x, y
    real(real64), pointer :: px(:, :), py(:, :)
    real(c_double) :: g(3, 2), norm(2), small(1, 2), r(2, 2)
    integer :: n
    real(real64) :: all_r
    call spmm_multivector_create(3_int64, 2_int64, SPMM_F64, SPMM_CPU, x, status)
    call spmm_multivector_create(3_int64, 2_int64, SPMM_F64, SPMM_CPU, y, status)
    call spmm_multivector_pointer(x, px, status)
    call spmm_multivector_pointer(y, py, status)
    px(1, :) = 1
    px(2, :) = 2
    py(1, :) = rank + 1
    py(2, :) = -1
    all_r = sum([(real(n, real64), n=1, ranks)])
    g = 7
    call spmm_multivector_dot(MPI_COMM_WORLD, x, y, g, status)
    call check("inner products are (column of Y, column of X)", status == SPMM_OK .and. &
               all(abs(g(:2, 1) - 3 * [all_r, -real(ranks, real64)]) < 1e-12_real64) .and. &
               all(abs(g(:2, 2) - 6 * [all_r, -real(ranks, real64)]) < 1e-12_real64) .and. all(abs(g(3, :) - 7) < 1e-12_real64))
    call spmm_multivector_norms(MPI_COMM_WORLD, x, norm, status)
    call check("norms of columns", status == SPMM_OK .and. &
               all(abs(norm - sqrt(3.0_real64 * ranks) * [1, 2]) < 1e-12_real64))
    r = reshape([1.0_real64, 0.0_real64, 10.0_real64, 1.0_real64], [2, 2])
    call spmm_multivector_times(1.0_real64, x, r, 2.0_real64, y, status)
    call check("Y := X R + 2 Y with r(column of Y, column of X)", status == SPMM_OK .and. &
               all(abs(py(1, :) - (21 + 2 * (rank + 1))) < 1e-12_real64) .and. all(abs(py(2, :)) < 1e-12_real64))
    call spmm_multivector_axpby(-1.0_real64, x, 3.0_real64, y, status)
    call check("Y := -X + 3 Y", status == SPMM_OK .and. all(abs(py(2, :) + 2) < 1e-12_real64))
    call spmm_multivector_scale([0.5_real64, -1.0_real64], y, status)
    call check("columns are scaled", status == SPMM_OK .and. all(abs(py(2, :) - 2) < 1e-12_real64))
    if (rank == ranks - 1) then
      call spmm_multivector_dot(MPI_COMM_WORLD, x, y, small(:, :0), status)
    else
      call spmm_multivector_dot(MPI_COMM_WORLD, x, y, g, status)
    end if
    call check("inner products without room on one rank are an error on all", status == SPMM_ERR_USAGE)
    call spmm_multivector_dot(MPI_COMM_WORLD, x, y, small, status)
    call fails("inner products in an array that is too small", SPMM_ERR_USAGE, "spmm_multivector_dot")
    call spmm_multivector_norms(MPI_COMM_WORLD, x, norm(:1), status)
    call fails("norms in an array that is too small", SPMM_ERR_USAGE, "spmm_multivector_norms")
    call spmm_multivector_dot(MPI_COMM_NULL, x, y, g, status)
    call fails("inner products without a communicator", SPMM_ERR_USAGE, "MPI_COMM_NULL")
    call spmm_multivector_times(1.0_real64, x, small, 0.0_real64, y, status)
    call fails("a small matrix that is too small", SPMM_ERR_USAGE, "spmm_multivector_times")
    call spmm_multivector_scale(norm(:1), x, status)
    call fails("too few factors", SPMM_ERR_USAGE, "spmm_multivector_scale")
    call spmm_multivector_destroy(y)
    call spmm_multivector_axpby(1.0_real64, x, 0.0_real64, y, status)
    call fails("y of other rows", SPMM_ERR_USAGE, "spmm_multivector_axpby")
    call spmm_multivector_destroy(x)
  end subroutine

  ! Two rows on each rank, in two parts: 2 on the diagonal, in own columns; and 1 in the first column of A.
  subroutine block_of_rows()
    integer(c_int32_t), target :: own_starts(3) = [0, 1, 2], own_columns(2) = [0, 1]
    integer(c_int64_t), target :: starts(3) = [0, 1, 2], columns(2) = [0, 0], map(1) = [0]
    real(real64), target :: own(2) = [2, 2], others(2) = [1, 1]
    type(spmm_rows) :: part(2)
    type(spmm_block), target :: block
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    real(real64), pointer :: as(:)
    part(1) = spmm_rows(irp=c_loc(own_starts), ja=c_loc(own_columns), as=c_loc(own), first_column=int(2 * rank, c_int64_t))
    part(2) = spmm_rows(irp=c_loc(starts), ja=c_loc(columns), as=c_loc(others), irp_bytes=8, ja_bytes=8, map=c_loc(map), &
                        map_bytes=8, map_size=1_int64)
    call spmm_block_from_rows(MPI_COMM_WORLD, 2_int64, 2_int64, SPMM_F64, part, block, status)
    call check("a block is made of rows of two parts", status == SPMM_OK .and. block%rows == 2 * ranks .and. &
               block%cols == 2 * ranks .and. block%row_begin == 2 * rank .and. block%x_begin == 2 * rank)
    call spmm_csr_pointers(block%csr, irp, ja, as, status)
    if (rank == 0) then
      call check("whose duplicates are summed", all(ja == [0, 0, 1]) .and. all(abs(as - [3, 1, 2]) < 1e-12_real64))
    else
      call check("with columns of the whole matrix", all(ja == [0, 2 * rank, 0, 2 * rank + 1]) .and. &
                 all(abs(as - [1, 2, 1, 2]) < 1e-12_real64))
    end if
    call spmm_block_destroy(block)
    map = 2 * ranks
    call spmm_block_from_rows(MPI_COMM_WORLD, 2_int64, 2_int64, SPMM_F64, part, block, status)
    call fails("a column beyond the last", SPMM_ERR_USAGE, "spmm_block_from_rows: part[1].map[0] is")
  end subroutine

  ! Multiplies the matrix ((2, 0), (3, 4)) in the program's own arrays by X = ((1, 2), (1, 2)).
  subroutine product_at_once()
    integer(c_int32_t), target :: irp(3), ja(3)
    real(real64), target :: as(3)
    type(spmm_multivector) :: x, y
    real(real64), pointer :: px(:, :), py(:, :)
    irp = [0, 1, 3]
    ja = [0, 0, 1]
    as = [2, 3, 4]
    call spmm_multivector_create(2_int64, 2_int64, SPMM_F64, SPMM_CPU, x, status)
    call spmm_multivector_create(2_int64, 2_int64, SPMM_F64, SPMM_CPU, y, status)
    call spmm_multivector_pointer(x, px, status)
    call spmm_multivector_pointer(y, py, status)
    px(1, :) = 1
    px(2, :) = 2
    call spmm_rows_apply(spmm_rows(irp=c_loc(irp), ja=c_loc(ja), as=c_loc(as)), 10.0_real64, x, 0.0_real64, y, 1, status)
    call check("rows are multiplied without a plan", status == SPMM_OK .and. all(abs(py(1, :) - [20, 70]) < 1e-12_real64) .and. &
               all(abs(py(2, :) - [40, 140]) < 1e-12_real64))
    ja(3) = 0
    call spmm_rows_apply(spmm_rows(irp=c_loc(irp), ja=c_loc(ja), as=c_loc(as)), 1.0_real64, x, 0.0_real64, y, 1, status)
    call fails("a column twice in a row", SPMM_ERR_USAGE, "columns must increase within a row")
    call spmm_multivector_destroy(x)
    call spmm_multivector_destroy(y)
  end subroutine

  ! Updates the plan by the block's rows with twice the values, with another pattern, and with the first values.
  subroutine rows(plan, block, x, y, py)
    type(spmm_plan), intent(in) :: plan
    type(spmm_block), intent(in) :: block
    type(spmm_multivector), intent(in) :: x
    type(spmm_multivector), intent(inout) :: y
    real(real64), pointer, intent(in) :: py(:, :)
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    real(real64), pointer :: as(:)
    integer(c_int64_t), allocatable, target :: columns(:)
    real(real64), allocatable, target :: values(:)
    logical :: same
    call spmm_csr_pointers(block%csr, irp, ja, as, status)
    allocate(columns, source=int(ja, c_int64_t))
    allocate(values, source=2 * as)
    call spmm_plan_update_rows(plan, spmm_rows(irp=c_loc(irp), ja=c_loc(columns), as=c_loc(values), irp_bytes=8, ja_bytes=8), &
                               same, status)
    call check("rows with new values are taken over", status == SPMM_OK .and. same .and. all(abs(as - values) < 1e-12_real64))
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
    call check("and multiplied", right(1.0_real64, block, py))
    columns(1) = columns(1) + 1
    call spmm_plan_update_rows(plan, spmm_rows(irp=c_loc(irp), ja=c_loc(columns), irp_bytes=8, ja_bytes=8), same, status)
    call check("another pattern is told", status == SPMM_OK .and. .not. same)
    as = as / 2
    call spmm_plan_update_values(plan, status)
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
  end subroutine

  ! Checks the diagonal of A, which is 20.
  subroutine diagonals(plan, rows)
    type(spmm_plan), intent(in) :: plan
    integer(c_int64_t), intent(in) :: rows
    type(spmm_multivector) :: d, x
    real(real64), pointer :: pd(:, :), px(:, :)
    call spmm_multivector_create(rows, 1_int64, SPMM_F64, SPMM_CPU, d, status)
    call spmm_multivector_pointer(d, pd, status)
    call spmm_plan_diagonal(plan, d, status)
    call check("the diagonal has them", status == SPMM_OK .and. all(abs(pd(1, :) - 20) < 1e-12_real64))
    call spmm_multivector_create(rows, 2_int64, SPMM_F64, SPMM_CPU, x, status)
    call spmm_multivector_pointer(x, px, status)
    px(1, :) = 0.5_real64
    px(2, :) = 3
    call spmm_multivector_scale_rows(d, x, status)
    call check("rows are scaled by it", status == SPMM_OK .and. all(abs(px(1, :) - 10) < 1e-12_real64) .and. &
               all(abs(px(2, :) - 60) < 1e-12_real64))
    call spmm_multivector_scale_rows(x, d, status)
    call fails("factors of two columns", SPMM_ERR_USAGE, "spmm_multivector_scale_rows: d is")
    call spmm_plan_diagonal(plan, x, status)
    call fails("a diagonal of two columns", SPMM_ERR_USAGE, "spmm_plan_diagonal: ")
    call spmm_multivector_destroy(d)
    call spmm_multivector_destroy(x)
  end subroutine

  ! Checks the gradient of the values of A: with columns of 1 it is their number, 4.
  subroutine gradients(plan, rows, entries)
    type(spmm_plan), intent(in) :: plan
    integer(c_int64_t), intent(in) :: rows, entries
    type(spmm_multivector) :: g, values
    real(real64), pointer :: pg(:, :), pv(:, :)
    call spmm_multivector_create(rows, 4_int64, SPMM_F64, SPMM_CPU, g, status)
    call spmm_multivector_pointer(g, pg, status)
    pg = 1
    call spmm_multivector_create(entries, 1_int64, SPMM_F64, SPMM_CPU, values, status)
    call spmm_multivector_pointer(values, pv, status)
    call spmm_plan_values_gradient(plan, g, g, values, status)
    call check("the values of A have a gradient", status == SPMM_OK .and. all(abs(pv(1, :) - 4) < 1e-12_real64))
    call spmm_plan_values_gradient(plan, g, values, values, status)
    call fails("an X of other rows has none", SPMM_ERR_USAGE, "spmm_plan_values_gradient: ")
    call spmm_multivector_destroy(g)
    call spmm_multivector_destroy(values)
  end subroutine

  subroutine make_block(block, spec)
    type(spmm_block), intent(out) :: block
    character(*), intent(in) :: spec
    type(spmm_csr) :: a
    if (rank == 0) call spmm_csr_generate(spec, SPMM_F64, a, status)
    call spmm_csr_scatter(MPI_COMM_WORLD, 0, a, 0, 0, block, status)
    call spmm_csr_destroy(a)
  end subroutine

  subroutine plans()
    type(spmm_block), target :: block
    type(spmm_plan) :: plan
    type(spmm_plan_options) :: options
    call make_block(block, "lap2d5:10")
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status)
    call check("a plan is made", status == SPMM_OK .and. len(spmm_plan_kernel(plan)) > 0)
    call spmm_plan_destroy(plan)
    call check("a destroyed plan has no kernel", spmm_plan_kernel(plan) == "")
    call spmm_plan_destroy(plan)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, kernel="cpu_csr  ")
    call check("with the kernel that is named", status == SPMM_OK .and. spmm_plan_kernel(plan) == "cpu_csr")
    call spmm_plan_destroy(plan)
    call spmm_plan_create_extended(MPI_COMM_WORLD, block, 3_int64, plan, status, kernel="cpu_csr", &
      study=spmm_plan_study(quick_plan=1))
    call check("so with a study", status == SPMM_OK .and. spmm_plan_kernel(plan) == "cpu_csr")
    call spmm_plan_destroy(plan)
    options%format = SPMM_FORMAT_ELL
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, options)
    call check("with a format", status == SPMM_OK .and. index(spmm_plan_kernel(plan), "ell") > 0)
    call spmm_plan_destroy(plan)
    call spmm_block_destroy(block)
  end subroutine

  subroutine wrong_plans()
    type(spmm_block), target :: block, nothing
    type(spmm_plan) :: plan
    type(spmm_plan_options) :: o
    type(spmm_multivector) :: v
    character(:), allocatable :: text
    logical :: same
    call make_block(block, "lap2d5:10")
    call spmm_plan_create(MPI_COMM_NULL, block, 3_int64, plan, status)
    call fails("a plan without a communicator", SPMM_ERR_USAGE, "spmm_plan_create: comm")
    call spmm_plan_create(MPI_COMM_WORLD, nothing, 3_int64, plan, status)
    call fails("a plan of no block", SPMM_ERR_USAGE, "spmm_plan_create: block")
    call spmm_plan_create(MPI_COMM_WORLD, block, -1_int64, plan, status)
    call fails("a plan of -1 columns", SPMM_ERR_USAGE, "spmm_plan_create: k is -1")
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, kernel="cpu_nothing")
    call fails("a kernel that is none", SPMM_ERR_USAGE, "cpu_nothing")
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, kernel="cpu_csr" // c_null_char // "x")
    call fails("a kernel whose name has a null character", SPMM_ERR_USAGE, "cpu_csr?x")
    o%format = 77
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("a format that is none", SPMM_ERR_USAGE, "options.format")
    o = spmm_plan_options(threads=-1)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("negative threads", SPMM_ERR_USAGE, "options.threads")
    o = spmm_plan_options(transport=77)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("a transport that is none", SPMM_ERR_USAGE, "options.transport")
    o = spmm_plan_options(exchange_precision=77)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("an exchange precision that is none", SPMM_ERR_USAGE, "options.exchange_precision")
    o = spmm_plan_options(exchange=77)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("an exchange that is none", SPMM_ERR_USAGE, "options.exchange")
    o = spmm_plan_options(reduce=77)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("a reduction that is none", SPMM_ERR_USAGE, "options.reduce")
    call spmm_plan_create_extended(MPI_COMM_WORLD, block, 3_int64, plan, status, study=spmm_plan_study(ell_limit=-1))
    call fails("a negative limit", SPMM_ERR_USAGE, "study.ell_limit")
    o = spmm_plan_options(column_blocks=2)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("column blocks that do not divide K", SPMM_ERR_USAGE, "column_blocks is")
    o = spmm_plan_options(device=SPMM_CUDA)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status, o)
    call fails("a GPU that is not open", SPMM_ERR_NO_DEVICE, "")
    call spmm_plan_x_create(plan, v, status)
    call fails("X of a plan that failed", SPMM_ERR_USAGE, "spmm_plan_x_create: plan")
    call spmm_plan_y_create(plan, v, status)
    call fails("and Y", SPMM_ERR_USAGE, "spmm_plan_y_create: plan")
    call spmm_plan_view(plan, status)
    call fails("and a view of it", SPMM_ERR_USAGE, "spmm_plan_view: plan")
    call spmm_plan_view_text(plan, text, status)
    call fails("also as a text", SPMM_ERR_USAGE, "spmm_plan_view_text: plan")
    call check("which is empty then", text == "")
    call spmm_plan_diagonal(plan, v, status)
    call fails("and a diagonal", SPMM_ERR_USAGE, "spmm_plan_diagonal: plan")
    call spmm_plan_update_values(plan, status)
    call fails("and new values", SPMM_ERR_USAGE, "spmm_plan_update_values: plan")
    call spmm_plan_update_rows(plan, spmm_rows(), same, status)
    call fails("and new rows", SPMM_ERR_USAGE, "spmm_plan_update_rows: plan")
    call spmm_plan_set_k(plan, 1_int64, status)
    call fails("and columns", SPMM_ERR_USAGE, "spmm_plan_set_k: plan")
    call spmm_apply(plan, 1.0_real64, v, 0.0_real64, v, status)
    call fails("and a product", SPMM_ERR_USAGE, "spmm_apply: plan")
    call spmm_apply_begin(plan, 1.0_real64, v, 0.0_real64, v, status)
    call fails("and the begin of one", SPMM_ERR_USAGE, "spmm_apply_begin: plan")
    call spmm_apply_end(plan, status)
    call fails("and its end", SPMM_ERR_USAGE, "spmm_apply_end: plan")
    call spmm_apply_transposed(plan, 1.0_real64, v, 0.0_real64, v, status)
    call fails("and a transposed product", SPMM_ERR_USAGE, "spmm_apply_transposed: plan")
    call spmm_block_destroy(block)
  end subroutine

  ! Column c of X consists of c, numbered from 1: element (i, c) of Y is c times the sum of row i of A.
  subroutine products()
    type(spmm_block), target :: block
    type(spmm_plan) :: plan
    type(spmm_multivector) :: x, y
    real(real64), pointer :: px(:, :), py(:, :), as(:)
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    real(real64) :: sums(2), all_sums(2)
    character(:), allocatable :: text
    integer :: j
    call make_block(block, "lap2d5:10")
    call spmm_csr_pointers(block%csr, irp, ja, as, status)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status)
    call spmm_plan_x_create(plan, x, status)
    call spmm_multivector_pointer(x, px, status)
    call spmm_plan_y_create(plan, y, status)
    call spmm_multivector_pointer(y, py, status)
    do j = 1, 3
      px(j, :) = j
    end do
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
    call check("a product has the row sums of A", status == SPMM_OK .and. right(1.0_real64, block, py))
    call spmm_apply(plan, 2.0_real64, x, 1.0_real64, y, status)
    call check("alpha and beta count", status == SPMM_OK .and. right(3.0_real64, block, py))
    call by_columns(plan, x, y)
    call spmm_apply_begin(plan, -1.0_real64, x, 1.0_real64, y, status)
    call check("a product begins", status == SPMM_OK)
    call spmm_apply_begin(plan, -1.0_real64, x, 1.0_real64, y, status)
    call fails("a second begin", SPMM_ERR_USAGE, "spmm_apply_begin: a product of the plan has begun")
    call spmm_apply_end(plan, status)
    call check("and ends", status == SPMM_OK .and. right(2.0_real64, block, py))
    call spmm_apply_end(plan, status)
    call fails("a second end", SPMM_ERR_USAGE, "spmm_apply_end: no product of the plan has begun")
    as = 5 * as
    call spmm_plan_update_values(plan, status)
    call check("new values are taken over", status == SPMM_OK)
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
    call check("and multiplied", right(1.0_real64, block, py))
    call rows(plan, block, x, y, py)
    call diagonals(plan, y%rows)
    call gradients(plan, y%rows, block%csr%nnz)
    call spmm_plan_view(plan, status)
    call check("a plan is printed", status == SPMM_OK)
    call spmm_plan_view_text(plan, text, status)
    call check("or a text, on rank 0", status == SPMM_OK .and. (rank > 0 .eqv. text == "") .and. &
               (rank > 0 .or. index(text, "matrix      100 x 100, 460 entries") > 0))
    ! the matrix is symmetric: with X and Y exchanged the result is the same
    call spmm_apply_transposed(plan, 1.0_real64, x, -1.0_real64, y, status)
    sums = [sum(abs(py(:3, :))), sum(abs(px(:3, :)))]
    call MPI_Allreduce(sums, all_sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check("a product with the transpose of a symmetric matrix is the same", status == SPMM_OK .and. &
               all_sums(1) < 1e-10_real64 .and. all_sums(2) > 1)
    call fewer_columns(plan, 2.0_real64, size(py, 2))
    call spmm_plan_destroy(plan)
    call spmm_multivector_destroy(x)
    call spmm_multivector_destroy(y)
    call spmm_block_destroy(block)
  end subroutine

  ! A product of two columns by a plan made for three: the second column of X is `factor` times the first.
  subroutine fewer_columns(plan, factor, rows)
    type(spmm_plan), intent(in) :: plan
    real(real64), intent(in) :: factor
    integer, intent(in) :: rows
    type(spmm_multivector) :: x, y
    real(real64), pointer :: px(:, :), py(:, :)
    call spmm_plan_set_k(plan, 4_int64, status)
    call fails("more columns than the plan was made for", SPMM_ERR_USAGE, "spmm_plan_set_k: k is 4, expected 0 to 3")
    call spmm_plan_set_k(plan, 2_int64, status)
    call check("a plan takes fewer columns", status == SPMM_OK)
    call spmm_plan_x_create_k(plan, 2_int64, x, status)
    call check("X has so many", status == SPMM_OK .and. x%k == 2)
    call spmm_plan_y_create_k(plan, 2_int64, y, status)
    call check("and Y", status == SPMM_OK .and. y%k == 2)
    call spmm_multivector_pointer(x, px, status)
    call spmm_multivector_pointer(y, py, status)
    px(1, :) = 1
    px(2, :) = factor
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
    call check("and the product has them", status == SPMM_OK .and. size(py, 2) == rows .and. &
               all(abs(py(2, :) - factor * py(1, :)) < 1e-11_real64))
    call spmm_multivector_destroy(x)
    call spmm_multivector_destroy(y)
  end subroutine

  ! Uses column-major arrays of Fortran, X(rows, 3), as X and Y.
  subroutine by_columns(plan, x, y)
    type(spmm_plan), intent(in) :: plan
    type(spmm_multivector), intent(in) :: x, y
    real(real64), allocatable, target :: cx(:, :), cy(:, :)
    real(real64), pointer :: px(:, :), py(:, :)
    type(spmm_multivector) :: u, v
    call spmm_multivector_pointer(x, px, status)
    call spmm_multivector_pointer(y, py, status)
    allocate (cx(x%rows, 3), cy(y%rows + 2, 3))
    cx = transpose(px(:3, :))
    cy = -7
    u = spmm_multivector(rows=x%rows, k=3, ld=max(x%rows, 1_int64), data=c_loc(cx), layout=SPMM_COLUMN_MAJOR)
    v = spmm_multivector(rows=y%rows, k=3, ld=size(cy, 1, int64), data=c_loc(cy), layout=SPMM_COLUMN_MAJOR)
    call spmm_apply(plan, 3.0_real64, u, 0.0_real64, v, status)
    call check("arrays (rows, k) are multiplied", status == SPMM_OK .and. all(cy(:y%rows, :) == transpose(py(:3, :))) .and. &
               all(cy(y%rows + 1:, :) == -7))
    v%ld = y%rows - 1
    call spmm_apply(plan, 3.0_real64, u, 0.0_real64, v, status)
    call fails("and not with columns that overlap", SPMM_ERR_USAGE, "spmm_apply: y has leading dimension")
    v%ld = size(cy, 1, int64)
    call spmm_multivector_axpby(1.0_real64, y, 1.0_real64, v, status)
    call fails("nor by other functions", SPMM_ERR_USAGE, "spmm_multivector_axpby: y is column-major")
  end subroutine

  ! Whether Y is `factor` times A X, where the columns of X consist of 1, 2 and 3.
  function right(factor, block, py)
    real(real64), intent(in) :: factor, py(:, :)
    type(spmm_block), intent(in) :: block
    logical :: right
    real(real64), pointer :: as(:)
    integer(c_int64_t), pointer :: irp(:)
    integer(c_int32_t), pointer :: ja(:)
    integer :: i, c
    call spmm_csr_pointers(block%csr, irp, ja, as, status)
    right = size(py, 2) == block%csr%rows
    do i = 1, size(py, 2)
      do c = 1, 3
        right = right .and. abs(py(c, i) - factor * c * sum(as(irp(i) + 1:irp(i + 1)))) < 1e-11_real64
      end do
    end do
  end function

  subroutine wrong_products()
    type(spmm_block), target :: block
    type(spmm_plan) :: plan
    type(spmm_plan) :: other
    type(spmm_plan_options) :: options
    type(spmm_multivector) :: x, y, wrong, again
    call make_block(block, "lap2d5:10")
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, plan, status)
    call spmm_plan_x_create(plan, x, status)
    call spmm_plan_y_create(plan, y, status)
    call spmm_multivector_create(x%rows, 4_int64, SPMM_F64, SPMM_CPU, wrong, status)
    call spmm_apply(plan, 1.0_real64, wrong, 0.0_real64, y, status)
    call fails("an X of other columns", SPMM_ERR_USAGE, "spmm_apply: x")
    call spmm_apply_begin(plan, 1.0_real64, wrong, 0.0_real64, y, status)
    call fails("and of a product that is begun", SPMM_ERR_USAGE, "spmm_apply_begin: x")
    call spmm_apply_end(plan, status)
    call fails("and ended", SPMM_ERR_USAGE, "spmm_apply_begin: x")
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, wrong, status)
    call fails("a Y of other columns", SPMM_ERR_USAGE, "spmm_apply: y")
    options%stream = c_loc(block)
    call spmm_plan_create(MPI_COMM_WORLD, block, 3_int64, other, status, options)
    call fails("a stream of a plan on the CPU", SPMM_ERR_USAGE, "spmm_plan_create: options.stream")
    call spmm_apply_transposed(plan, 1.0_real64, wrong, 0.0_real64, y, status)
    call fails("a transposed product of other columns", SPMM_ERR_USAGE, "spmm_apply_transposed: x")
    call spmm_apply_transposed(plan, 1.0_real64, x, 0.0_real64, wrong, status)
    call fails("and with another Y", SPMM_ERR_USAGE, "spmm_apply_transposed: y")
    again = x
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, again, status)
    call fails("X that is Y", SPMM_ERR_USAGE, "overlap")
    again%data = c_null_ptr
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, again, status)
    call fails("Y without data", SPMM_ERR_USAGE, "spmm_apply: y")
    call spmm_apply(plan, 1.0_real64, x, 0.0_real64, y, status)
    call check("after all these a product works", status == SPMM_OK)
    call spmm_multivector_destroy(wrong)
    call spmm_multivector_destroy(x)
    call spmm_multivector_destroy(y)
    call spmm_plan_destroy(plan)
    call spmm_block_destroy(block)
  end subroutine

  subroutine device()
    call spmm_device_open(MPI_COMM_NULL, status)
    call fails("a GPU without a communicator", SPMM_ERR_USAGE, "spmm_device_open: comm")
    call spmm_device_open(MPI_COMM_WORLD, status)
    call check("a GPU is opened, or there is none", status == SPMM_OK .or. status == SPMM_ERR_NO_DEVICE)
    call spmm_device_close()
  end subroutine
end program calls
