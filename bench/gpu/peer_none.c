/* gpu_peer.h where the build found no other library */
#include "gpu_peer.h"

#include "base/status.h"

const char *peer_library(void) { return NULL; }

const peer_form *peer_form_at(int i) { return (void)i, NULL; }

static spmm_status nothing(void) { return sp_fail(SPMM_ERR_UNSUPPORTED, "built without a peer"); }

spmm_status peer_open(void) { return nothing(); }
void peer_close(void) {}

spmm_status peer_matrix_create(const spmm_csr *host, const sp_matrix *csr, int threads, peer_matrix **m)
{
    (void)host, (void)csr, (void)threads;
    *m = NULL;
    return nothing();
}
void peer_matrix_destroy(peer_matrix *m) { (void)m; }

spmm_status peer_product_create(peer_matrix *m, const peer_form *form, const spmm_multivector *x,
                                const spmm_multivector *y, peer_product **p, double *seconds)
{
    (void)m, (void)form, (void)x, (void)y;
    *p = NULL;
    *seconds = 0;
    return nothing();
}
void peer_product_destroy(peer_product *p) { (void)p; }
spmm_status peer_product_run(const peer_product *p) { return (void)p, nothing(); }
