/** Defines the functions of builds without a library: each returns the status of refuse(), which the
 *  including file defines. Included only by such files. */
#ifndef SP_REFUSE_H
#define SP_REFUSE_H

#include "base/status.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/** Defines a function with these parameters; the statement `set` empties its outputs. */
#define REFUSE_EMPTY(name, set, ...) \
    spmm_status name(__VA_ARGS__)    \
    {                                \
        set;                         \
        return refuse();             \
    }

/** Defines a function without outputs, or whose outputs are undefined after a failure. */
#define REFUSE(name, ...) REFUSE_EMPTY(name, (void)0, __VA_ARGS__)

#endif
