/* limit: 300 */
#include "series_operators_cases.h"

int main(void)
{
    const char *why;
    if (sp_device_count(&why) == 0) {
        SKIP("kernels of series on the GPU", why);
        return test_end();
    }
    if (sp_device_open(0) != SPMM_OK) {
        printf("FAIL opening the GPU: %s\n", spmm_error_message());
        return 1;
    }
    test_device(SPMM_CUDA);
    test_operators_of(SPMM_CUDA);
    sp_device_close();
    return test_end();
}
