/** Communicators of one rank each, with their attributes, which MPI_Finalize() deletes; groups; Cartesian
 *  communicators; datatypes. */
#include <pthread.h>

#include "contrib/one_rank/one_rank.h"

/* --- making and freeing --- */

/** Creates a communicator with the error handler of `comm`. */
static int communicators_make(MPI_Comm comm, MPI_Comm *made, const char *call)
{
    *made = calloc(1, sizeof **made);
    if (!*made) return sp_one_rank_fail(comm, MPI_ERR_NO_MEM, call);
    (*made)->handler = comm->handler;
    (*made)->cart_dims = -1;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_rank");
    if (!error) *rank = 0;
    return error;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_size");
    if (!error) *size = 1;
    return error;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_test_inter");
    if (!error) *flag = 0;
    return error;
}

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result)
{
    int error = sp_one_rank_check(a, "MPI_Comm_compare");
    if (!error) error = sp_one_rank_check(b, "MPI_Comm_compare");
    if (!error) *result = a == b ? MPI_IDENT : MPI_CONGRUENT;
    return error;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part)
{
    (void)key;
    const int error = sp_one_rank_check(comm, "MPI_Comm_split");
    if (error) return error;
    *part = MPI_COMM_NULL;
    if (color == MPI_UNDEFINED) return MPI_SUCCESS;
    return color < 0 ? sp_one_rank_fail(comm, MPI_ERR_ARG, "MPI_Comm_split")
                     : communicators_make(comm, part, "MPI_Comm_split");
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    (void)key, (void)info;
    const int error = sp_one_rank_check(comm, "MPI_Comm_split_type");
    if (error) return error;
    *part = MPI_COMM_NULL;
    if (type == MPI_UNDEFINED) return MPI_SUCCESS;
    return type == MPI_COMM_TYPE_SHARED ? communicators_make(comm, part, "MPI_Comm_split_type")
                                        : sp_one_rank_fail(comm, MPI_ERR_ARG, "MPI_Comm_split_type");
}

/** (Weak, so that a program may define MPI_Comm_split_type() itself.) */
__attribute__((weak)) int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    return PMPI_Comm_split_type(comm, type, key, info, part);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    const int error = sp_one_rank_check(*comm, "MPI_Comm_free");
    if (error) return error;
    if (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF)
        return sp_one_rank_fail(*comm, MPI_ERR_COMM, "MPI_Comm_free");
    sp_one_rank_delete_attributes(*comm);
    sp_one_rank_drop_messages(*comm);
    free(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    sp_one_rank_must_run("MPI_Finalize");
    sp_one_rank_delete_attributes(MPI_COMM_SELF);
    sp_one_rank_delete_attributes(MPI_COMM_WORLD);
    sp_one_rank_drop_messages(MPI_COMM_SELF);
    sp_one_rank_drop_messages(MPI_COMM_WORLD);
    sp_one_rank_end();
    return MPI_SUCCESS;
}

int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *inter)
{
    (void)leader, (void)peer, (void)remote, (void)tag;
    const int error = sp_one_rank_check(local, "MPI_Intercomm_create");
    if (error) return error;
    *inter = MPI_COMM_NULL;
    return sp_one_rank_fail(local, MPI_ERR_RANK, "MPI_Intercomm_create");
}

/* --- error handlers --- */

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_set_errhandler");
    if (error) return error;
    if (handler != MPI_ERRORS_RETURN && handler != MPI_ERRORS_ARE_FATAL)
        return sp_one_rank_fail(comm, MPI_ERR_ARG, "MPI_Comm_set_errhandler");
    comm->handler = handler;
    return MPI_SUCCESS;
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_get_errhandler");
    if (!error) *handler = comm->handler;
    return error;
}

int MPI_Errhandler_free(MPI_Errhandler *handler)
{
    sp_one_rank_must_run("MPI_Errhandler_free");
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

/* --- attributes --- */

enum { MOST_KEYVALS = 64 };
static struct {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *destroy;
    void *extra;
} keyvals[MOST_KEYVALS];
static int keyval_count;
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *destroy,
                           int *keyval, void *extra)
{
    sp_one_rank_must_run("MPI_Comm_create_keyval");
    pthread_mutex_lock(&keyval_lock);
    *keyval = keyval_count < MOST_KEYVALS ? keyval_count++ : MPI_KEYVAL_INVALID;
    if (*keyval != MPI_KEYVAL_INVALID) {
        keyvals[*keyval].copy = copy;
        keyvals[*keyval].destroy = destroy;
        keyvals[*keyval].extra = extra;
    }
    pthread_mutex_unlock(&keyval_lock);
    return *keyval == MPI_KEYVAL_INVALID ? sp_one_rank_fail(NULL, MPI_ERR_NO_MEM, "MPI_Comm_create_keyval")
                                         : MPI_SUCCESS;
}

/** Checks communicator and key of a call. */
static int check_keyval(MPI_Comm comm, int keyval, const char *call)
{
    const int error = sp_one_rank_check(comm, call);
    if (error) return error;
    return keyval < 0 || keyval >= keyval_count ? sp_one_rank_fail(comm, MPI_ERR_KEYVAL, call) : MPI_SUCCESS;
}

/** Returns the address of the pointer, in the list of comm, to the attribute with that key. If there is none,
 *  returns the address of the NULL pointer at the end of the list. */
static sp_one_rank_attribute **find_attribute(MPI_Comm comm, int keyval)
{
    sp_one_rank_attribute **at = &comm->attributes;
    while (*at && (*at)->keyval != keyval) at = &(*at)->next;
    return at;
}

/** Removes an attribute from its list, and calls its delete function. */
static int remove_attribute(MPI_Comm comm, sp_one_rank_attribute **at)
{
    sp_one_rank_attribute *const a = *at;
    MPI_Comm_delete_attr_function *const destroy = keyvals[a->keyval].destroy;
    *at = a->next;
    const int error = destroy ? destroy(comm, a->keyval, a->value, keyvals[a->keyval].extra) : MPI_SUCCESS;
    free(a);
    return error;
}

void sp_one_rank_delete_attributes(MPI_Comm comm)
{
    while (comm->attributes) (void)remove_attribute(comm, &comm->attributes);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    int error = check_keyval(comm, keyval, "MPI_Comm_set_attr");
    if (error) return error;
    sp_one_rank_attribute **const old = find_attribute(comm, keyval);
    if (*old && (error = remove_attribute(comm, old)) != MPI_SUCCESS)
        return sp_one_rank_fail(comm, error, "MPI_Comm_set_attr");
    sp_one_rank_attribute *const a = malloc(sizeof *a);
    if (!a) return sp_one_rank_fail(comm, MPI_ERR_NO_MEM, "MPI_Comm_set_attr");
    *a = (sp_one_rank_attribute){keyval, value, comm->attributes};
    comm->attributes = a;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    const int error = check_keyval(comm, keyval, "MPI_Comm_get_attr");
    if (error) return error;
    const sp_one_rank_attribute *const a = *find_attribute(comm, keyval);
    *flag = a != NULL;
    if (a) *(void **)value = a->value;
    return MPI_SUCCESS;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    int error = check_keyval(comm, keyval, "MPI_Comm_delete_attr");
    if (error) return error;
    sp_one_rank_attribute **const at = find_attribute(comm, keyval);
    error = *at ? remove_attribute(comm, at) : MPI_ERR_KEYVAL;
    return error ? sp_one_rank_fail(comm, error, "MPI_Comm_delete_attr") : MPI_SUCCESS;
}

/** Copies the attributes whose copy functions request that. */
static int copy_attributes(MPI_Comm comm, MPI_Comm copy)
{
    for (const sp_one_rank_attribute *a = comm->attributes; a; a = a->next) {
        void *value = NULL;
        int wanted = 0;
        MPI_Comm_copy_attr_function *const ask = keyvals[a->keyval].copy;
        const int error = ask ? ask(comm, a->keyval, keyvals[a->keyval].extra, a->value, &value, &wanted)
                              : MPI_SUCCESS;
        if (error) return error;
        if (wanted && MPI_Comm_set_attr(copy, a->keyval, value) != MPI_SUCCESS) return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    int error = sp_one_rank_check(comm, "MPI_Comm_dup");
    if (!error) error = communicators_make(comm, copy, "MPI_Comm_dup");
    if (error) return error;
    (*copy)->cart_dims = comm->cart_dims;
    for (int d = 0; d < comm->cart_dims; d++) (*copy)->period[d] = comm->period[d];
    error = copy_attributes(comm, *copy);
    if (error) {
        MPI_Comm_free(copy);
        return sp_one_rank_fail(comm, error, "MPI_Comm_dup");
    }
    return MPI_SUCCESS;
}

/* --- groups: there is one, of rank 0 --- */

struct spmm_one_rank_group {
    int ranks;
};
static struct spmm_one_rank_group only_group = {1};

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    const int error = sp_one_rank_check(comm, "MPI_Comm_group");
    if (!error) *group = &only_group;
    return error;
}

int MPI_Group_translate_ranks(MPI_Group from, int n, const int *ranks, MPI_Group to, int *result)
{
    sp_one_rank_must_run("MPI_Group_translate_ranks");
    if (from != &only_group || to != &only_group)
        return sp_one_rank_fail(NULL, MPI_ERR_GROUP, "MPI_Group_translate_ranks");
    for (int i = 0; i < n; i++) {
        if (ranks[i] != 0 && ranks[i] != MPI_PROC_NULL)
            return sp_one_rank_fail(NULL, MPI_ERR_RANK, "MPI_Group_translate_ranks");
        result[i] = ranks[i];
    }
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
    sp_one_rank_must_run("MPI_Group_free");
    if (*group != &only_group) return sp_one_rank_fail(NULL, MPI_ERR_GROUP, "MPI_Group_free");
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* --- Cartesian communicators: the size of each dimension is 1 --- */

int MPI_Cart_create(MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *cart)
{
    (void)reorder;
    int error = sp_one_rank_check(comm, "MPI_Cart_create");
    if (error) return error;
    error = n < 0 || n > SP_ONE_RANK_DIMS ? MPI_ERR_DIMS : MPI_SUCCESS;
    for (int d = 0; !error && d < n; d++)
        if (dims[d] != 1) error = MPI_ERR_DIMS;
    if (error) return sp_one_rank_fail(comm, error, "MPI_Cart_create");
    error = communicators_make(comm, cart, "MPI_Cart_create");
    if (error) return error;
    (*cart)->cart_dims = n;
    for (int d = 0; d < n; d++) (*cart)->period[d] = periods[d] != 0;
    return MPI_SUCCESS;
}

/** Checks a Cartesian communicator. */
static int check_cart(MPI_Comm cart, const char *call)
{
    const int error = sp_one_rank_check(cart, call);
    if (error) return error;
    return cart->cart_dims < 0 ? sp_one_rank_fail(cart, MPI_ERR_TOPOLOGY, call) : MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm cart, const int *remain, MPI_Comm *part)
{
    int error = check_cart(cart, "MPI_Cart_sub");
    if (!error) error = communicators_make(cart, part, "MPI_Cart_sub");
    if (error) return error;
    (*part)->cart_dims = 0;
    for (int d = 0; d < cart->cart_dims; d++)
        if (remain[d]) (*part)->period[(*part)->cart_dims++] = cart->period[d];
    return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm cart, int rank, int n, int *coords)
{
    const int error = check_cart(cart, "MPI_Cart_coords");
    if (error) return error;
    if (rank != 0) return sp_one_rank_fail(cart, MPI_ERR_RANK, "MPI_Cart_coords");
    for (int d = 0; d < n && d < cart->cart_dims; d++) coords[d] = 0;
    return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm cart, int n, int *dims, int *periods, int *coords)
{
    const int error = check_cart(cart, "MPI_Cart_get");
    if (error) return error;
    for (int d = 0; d < n && d < cart->cart_dims; d++) {
        dims[d] = 1;
        periods[d] = cart->period[d];
        coords[d] = 0;
    }
    return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm cart, int direction, int steps, int *from, int *to)
{
    const int error = check_cart(cart, "MPI_Cart_shift");
    if (error) return error;
    if (direction < 0 || direction >= cart->cart_dims)
        return sp_one_rank_fail(cart, MPI_ERR_DIMS, "MPI_Cart_shift");
    *from = *to = cart->period[direction] || steps == 0 ? 0 : MPI_PROC_NULL;
    return MPI_SUCCESS;
}

/* --- datatypes --- */

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type)
{
    sp_one_rank_must_run("MPI_Type_contiguous");
    const int error = count == 0 ? MPI_ERR_COUNT : sp_one_rank_buffer(count, of);
    if (error) return sp_one_rank_fail(NULL, error, "MPI_Type_contiguous");
    *type = (MPI_Datatype)(intptr_t)sp_one_rank_bytes(count, of);
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    sp_one_rank_must_run("MPI_Type_commit");
    return *type ? MPI_SUCCESS : sp_one_rank_fail(NULL, MPI_ERR_TYPE, "MPI_Type_commit");
}

int MPI_Type_free(MPI_Datatype *type)
{
    sp_one_rank_must_run("MPI_Type_free");
    if (!*type) return sp_one_rank_fail(NULL, MPI_ERR_TYPE, "MPI_Type_free");
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
