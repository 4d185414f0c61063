"""The command on a real matrix, as a new user runs it: make check-quick runs this test besides the C tests."""
from command import MATRICES, equal, finish, run, test, verified

MATRIX = next(m for m in MATRICES if m.name.startswith("bcsstk16"))

with test("a real matrix times 8 columns is the serial product bit for bit on 1, 2 and 4 ranks, in both precisions"):
    for ranks in (1, 2, 4):
        for precision in ("f64", "f32"):
            result = run("-d", "cpu", "-t", 1, "-k", 8, "-r", 3, "-p", precision, MATRIX, ranks=ranks)
            verified(result, f"{ranks} ranks, {precision}", 1)
            r = result.records[0]
            equal((r["run"]["ranks"], r["matrix"]["nnz"], r["error"]["checked"]), (ranks, 290378, 4884 * 8))

with test("a 2 x 2 grid passes, in which partial sums are added"):
    verified(run("-d", "cpu", "-t", 1, "-k", 8, "-r", 3, "-g", "2x2", MATRIX, ranks=4), "2x2", 1)

with test("every CPU kernel passes on a generated matrix"):
    result = run("-d", "cpu", "-t", 1, "-k", 3, "-r", 1, "--kernel", "all", "lap3d7:12")
    verified(result, "all kernels")
    assert len({r["run"]["kernel"] for r in result.records}) >= 3, result.out

finish()
