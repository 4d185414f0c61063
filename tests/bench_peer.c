/** An adaptor of simple loops, for the tests of benches and of spmm_mpi's --kernel. The environment variable
 *  WRONG makes a row of a column-major product wrong, BROKEN makes the set-up fail. The compiler's command
 *  line defines PACKAGE and FORMS. */
#include <stdlib.h>
#include "kernels/peers/peer.h"
static const peer_form forms[] = {FORMS};
static const char *begin(int t, const char *f, char *v, size_t n)
{
    (void)t, (void)f;
    v[0] = n > 0 ? 'v' : 0, v[1] = 0;
    return NULL;
}
static const char *start(void *product)
{
    (void)product;
    return getenv("BROKEN") ? "it is broken" : NULL;
}
static const char *run(void *product)
{
    const peer_product *q = product;
    const peer_matrix *a = q->a;
    const int row = q->form->layout == PEER_ROW;
    const double *x = q->x, *val = a->val;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < q->k; j++) {
            double sum = !row && i == 3 && getenv("WRONG") ? 1e-9 : 0;
            for (int32_t e = a->row_start[i]; e < a->row_start[i + 1]; e++)
                sum += val[e] * x[row ? a->col[e] * q->ldx + j : j * q->ldx + a->col[e]];
            ((double *)q->y)[row ? i * q->ldy + j : j * q->ldy + i] = sum;
        }
    return NULL;
}
static const char *way(const void *product)
{
    (void)product;
    return "loops";
}
const peer_adaptor spmm_peer = {.package = PACKAGE,
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .open = begin,
                                .begin = start,
                                .run = run,
                                .rebinds = 1,
                                .way = way};
