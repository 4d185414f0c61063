/* fast_float (Debian: libfast-float-dev), linked into the libFuzzer target if it is installed */
#include "fuzz_oracle.h"

#include <cstring>
#include <fast_float/fast_float.h>
#include <system_error>

int fuzz_oracle(const char *text, double *value)
{
    if (*text == '+') text++;
    const char *const end = text + std::strlen(text);
    const fast_float::from_chars_result r = fast_float::from_chars(text, end, *value);
    return r.ec == std::errc() && r.ptr == end;
}
