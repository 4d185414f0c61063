! Block power iteration in Fortran: the K eigenvalues of largest magnitude of a symmetric matrix, on any number of MPI
! processes. block_power.c describes the method; this program runs only on CPUs.
!
!     mpifort block_power.f90 -o block_power_f $(pkg-config --cflags --libs spmm-fortran)
!     mpirun -np 4 ./block_power_f [MATRIX [K [TOLERANCE [ROUNDS]]]]
!
! MATRIX is a Matrix Market file or a generator's spec such as lap2d5:30. Exit status: 0 if |A v - lambda v| <=
! TOLERANCE * |lambda_1| for each of the K vectors, 1 if ROUNDS were not enough, 2 usage, 4 an error.
!
! A block of vectors is an array (k, rows) here: a column of the array is a row of the multivector.
program block_power
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use spmm
  implicit none

  integer, parameter :: products = 5 ! between two Rayleigh-Ritz steps, without the one that the step needs
  ! this rank's rows of a block of vectors
  type :: vectors
    type(spmm_multivector) :: multivector
    real(real64), pointer :: rows(:, :) => null() ! its data, (k, rows)
  end type vectors

  type(spmm_block), target :: block ! the plan reads it
  type(spmm_plan) :: plan
  type(vectors) :: x, y ! swapped after each product
  character(:), allocatable :: matrix
  real(real64), allocatable :: g(:, :), v(:, :), values(:), residuals(:)
  real(real64) :: tolerance
  integer :: rank, ranks, k, wanted, round, rounds
  logical :: done

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_arguments()
  call load()
  call prepare()

  values = 0
  call randomize(1, k, 1)
  done = .false.
  do round = 1, rounds
    if (round > 1) call power()
    call orthonormalize()
    call multiply(1.0_real64)
    call rayleigh_ritz()
    done = all(residuals(:wanted) <= tolerance * abs(values(1)))
    if (done) exit
    call swap() ! A X is the first power of the next round
  end do
  if (rank == 0) call report()

  call spmm_multivector_destroy(x%multivector)
  call spmm_multivector_destroy(y%multivector)
  call spmm_plan_destroy(plan)
  call spmm_block_destroy(block)
  call MPI_Finalize()
  if (.not. done) stop 1

contains

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status /= SPMM_OK) call give_up(4, spmm_error_message())
  end subroutine

  subroutine give_up(code, text)
    integer, intent(in) :: code
    character(*), intent(in) :: text
    write (error_unit, '(2a)') "block_power: ", text
    call MPI_Abort(MPI_COMM_WORLD, code)
  end subroutine

  function argument(i, otherwise) result(word)
    integer, intent(in) :: i
    character(*), intent(in) :: otherwise
    character(:), allocatable :: word
    integer :: length
    if (i > command_argument_count()) then
      word = otherwise
    else
      call get_command_argument(i, length=length)
      allocate (character(length) :: word)
      call get_command_argument(i, word)
    end if
  end function

  subroutine read_arguments()
    character(:), allocatable :: words
    integer :: bad
    matrix = argument(1, "lap2d5:30")
    words = argument(2, "4") // " " // argument(3, "1e-6") // " " // argument(4, "1000")
    read (words, *, iostat=bad) wanted, tolerance, rounds
    if (bad /= 0 .or. command_argument_count() > 4 .or. matrix(1:1) == "-") wanted = 0
    if (wanted >= 1 .and. wanted <= 1000 .and. tolerance > 0 .and. rounds >= 1) return
    if (rank == 0) write (error_unit, '(a)') "usage: block_power [MATRIX [K [TOLERANCE [ROUNDS]]]]"
    call MPI_Finalize()
    stop 2
  end subroutine

  ! Creates the matrix on rank 0 and scatters it: each rank gets rows, with about equally many entries.
  subroutine load()
    type(spmm_csr) :: a
    integer(c_int) :: status
    if (rank == 0) then
      if (index(matrix, ":") > 0) then
        call spmm_csr_generate(matrix, SPMM_F64, a, status)
      else
        call spmm_csr_read(matrix, SPMM_F64, a, status)
      end if
      call must(status)
    end if
    call spmm_csr_scatter(MPI_COMM_WORLD, 0, a, 0, 0, block, status)
    call must(status)
    call spmm_csr_destroy(a)
    if (block%rows /= block%cols) call give_up(4, "the matrix is not square")
  end subroutine

  subroutine create(a)
    type(vectors), intent(out) :: a
    real(real64), pointer :: padded(:, :) ! (ld, rows)
    integer(c_int) :: status
    ! not spmm_plan_y_create(): x and y are swapped, so both need the memory of an X for ghost rows
    call spmm_plan_x_create(plan, a%multivector, status)
    call must(status)
    call spmm_multivector_pointer(a%multivector, padded, status)
    call must(status)
    a%rows => padded(1:k, :)
  end subroutine

  subroutine prepare()
    integer(c_int) :: status
    k = int(min(int(2 * wanted, int64), block%rows)) ! columns beyond the wanted ones make these converge faster
    if (wanted > k) call give_up(2, "K exceeds the number of rows of the matrix")
    call spmm_plan_create(MPI_COMM_WORLD, block, int(k, c_int64_t), plan, status)
    call must(status)
    call create(x)
    call create(y)
    allocate (g(k, k), v(k, k), values(k), residuals(k))
  end subroutine

  ! Fills columns first to last with random numbers, which are the same on any number of ranks.
  subroutine randomize(first, last, seed)
    integer, intent(in) :: first, last, seed
    integer :: j
    integer(int64) :: i, h
    do i = 1, size(x%rows, 2, kind=int64)
      do j = first, last
        h = modulo((block%x_begin + i) * 48271_int64 + 16807_int64 * (j + 1009_int64 * seed), 2147483647_int64)
        h = modulo(h * 48271_int64 + ieor(h, ishft(h, -13)), 2147483647_int64)
        h = modulo(h * 16807_int64, 2147483647_int64)
        x%rows(j, i) = real(h, real64) / 2147483647.0_real64 - 0.5_real64
      end do
    end do
  end subroutine

  subroutine multiply(alpha)
    real(real64), intent(in) :: alpha
    integer(c_int) :: status
    call spmm_apply(plan, alpha, x%multivector, 0.0_real64, y%multivector, status)
    call must(status)
  end subroutine

  subroutine swap()
    type(vectors) :: t
    t = x
    x = y
    y = t
  end subroutine

  ! X := (A / |values(1)|)^products X; without scaling, A^n X would soon leave the range of a double.
  subroutine power()
    integer :: i
    do i = 1, products
      call multiply(1 / abs(values(1)))
      call swap()
    end do
  end subroutine

  ! g := a b^T over all ranks
  subroutine inner_products(a, b)
    type(vectors), intent(in) :: a, b
    g = matmul(a%rows, transpose(b%rows))
    call MPI_Allreduce(MPI_IN_PLACE, g, k * k, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end subroutine

  ! Makes the columns of X orthonormal and keeps their span, in two passes with a Cholesky factor of X^T X.
  subroutine orthonormalize()
    integer :: pass, bad, attempts
    attempts = 0
    pass = 1
    do while (pass <= 2)
      call inner_products(x, x)
      call factorize(bad)
      if (bad == 0) then
        call solve()
        pass = pass + 1
      else ! the matrix has a lower rank than the block has columns: another direction
        attempts = attempts + 1
        if (attempts > 2 * k) call give_up(4, "the vectors cannot be made orthonormal")
        call randomize(bad, bad, 1000 * round + attempts)
      end if
    end do
  end subroutine

  ! g = L L^T, L replaces its lower triangle; bad: the column that depends on those before it, or 0
  subroutine factorize(bad)
    integer, intent(out) :: bad
    integer :: j
    real(real64) :: pivot
    do j = 1, k
      bad = j
      pivot = g(j, j) - sum(g(j, :j - 1)**2)
      if (.not. pivot > 1e-12_real64 * g(j, j)) return
      g(j, j) = sqrt(pivot)
      g(j + 1:, j) = (g(j + 1:, j) - matmul(g(j + 1:, :j - 1), g(j, :j - 1))) / g(j, j)
    end do
    bad = 0
  end subroutine

  subroutine solve()
    integer :: i, j
    do i = 1, size(x%rows, 2)
      do j = 1, k
        x%rows(j, i) = (x%rows(j, i) - dot_product(g(j, :j - 1), x%rows(:j - 1, i))) / g(j, j)
      end do
    end do
  end subroutine

  ! X is orthonormal and Y = A X. Within the span of X, the best approximations to eigenvectors are X V, where
  ! X^T A X = V diag(values) V^T.
  subroutine rayleigh_ritz()
    integer :: j
    call inner_products(x, y)
    if (sum(abs(g - transpose(g))) > 1e-8_real64 * sum(abs(g))) call give_up(4, "the matrix is not symmetric")
    call jacobi()
    call sort()
    x%rows = matmul(transpose(v), x%rows)
    y%rows = matmul(transpose(v), y%rows)
    do j = 1, k
      residuals(j) = sum((y%rows(j, :) - values(j) * x%rows(j, :))**2)
    end do
    call MPI_Allreduce(MPI_IN_PLACE, residuals, k, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    residuals = sqrt(residuals)
  end subroutine

  ! g = V diag(values) V^T by Jacobi's rotations
  subroutine jacobi()
    integer :: i, p, q, sweep
    v = 0
    do i = 1, k
      v(i, i) = 1
    end do
    do sweep = 1, 40
      values = [(g(i, i), i=1, k)]
      if (sum(g**2) - sum(values**2) <= 1e-30_real64 * sum(g**2)) exit
      do p = 1, k - 1
        do q = p + 1, k
          call turn(p, q)
        end do
      end do
    end do
    values = [(g(i, i), i=1, k)]
  end subroutine

  ! Rotates rows and columns p and q of g so that g(p, q) becomes 0; v accumulates the rotations.
  subroutine turn(p, q)
    integer, intent(in) :: p, q
    real(real64) :: twice, apart, angle, r(2, 2)
    twice = 2 * g(p, q)
    apart = g(q, q) - g(p, p)
    if (.not. abs(twice) > 0) return
    angle = 0.5_real64 * atan2(sign(1.0_real64, apart) * twice, abs(apart)) ! the smaller possible angle
    r = reshape([cos(angle), -sin(angle), sin(angle), cos(angle)], [2, 2])
    g(:, [p, q]) = matmul(g(:, [p, q]), r)
    v(:, [p, q]) = matmul(v(:, [p, q]), r)
    g([p, q], :) = matmul(transpose(r), g([p, q], :))
  end subroutine

  ! Sorts the eigenvalues and their vectors, largest magnitude first.
  subroutine sort()
    integer :: i, top
    do i = 1, k
      top = i - 1 + maxloc(abs(values(i:)), dim=1)
      values([i, top]) = values([top, i])
      v(:, [i, top]) = v(:, [top, i])
    end do
  end subroutine

  subroutine report()
    integer :: j
    print '(2a,i0,a,i0,4a,i0,a)', matrix, ": ", block%rows, " rows, ", ranks, " ranks", ", kernel ", spmm_plan_kernel(plan), &
      ", ", k, " vectors"
    print '(a4,a23,a19)', "", "eigenvalue", "|A v - lambda v|"
    do j = 1, wanted
      print '(i4,es23.15,es19.3)', j, values(j), residuals(j)
    end do
    if (done) then
      print '(a,es9.2,a)', "converged: residuals are at most ", tolerance, " * |lambda_1|"
    else
      print '(a,es9.2,a)', "NOT converged: residuals exceed ", tolerance, " * |lambda_1|"
    end if
  end subroutine
end program block_power
