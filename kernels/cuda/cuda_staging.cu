/** Plans which rows of X are in shared memory at each step (cuda_staging.cuh). A thread block plans one
 *  sequence of panels in the order in which a block of the product will run it, step by step. A hash table
 *  contains the rows that are in shared memory. A row of X stays in its slot until another row needs the
 *  slot; the least recently used slot is reassigned first. Rows that the previous step uses stay, because its
 *  products are computed while the rows of this step are copied. */
#include "kernels/cuda/cuda_staging.cuh"

#include "kernels/cuda/cuda_passes.cuh"

namespace {

/* BUFFER: maximum number of columns of the panels considered for a step. TABLE: size of the hash table, more
 * than BUFFER plus the number of slots. */
enum { PLANNERS = 512, MOST_SLOTS = SP_STAGED_ROWS, COLORS = 4, BUFFER = 4096, TABLE = 8192 };
constexpr int32_t NO_ROW = -1;
constexpr int NO_SLOT = -1, NO_COLOR = -1, NO_PANEL = SP_STEP_PANELS;
constexpr int MISSING = 1 << 14; /* value[] is MISSING + i: this row of X, missing[i], has no slot yet */

/** Totals over all sequences of a plan. */
struct plan_sums {
    unsigned long long failed; /* 1: a panel does not fit */
    unsigned long long steps, copies;
};

struct plan_args {
    const int64_t *tile_start, *value_start;
    const int32_t *col;
    const uint32_t *mask;
    int64_t panels;
    const int32_t *unit_start; /* NULL: the units are equal parts, see unit_begin() */
    bool even;                 /* parts of equal numbers of panels */
    int units; /* contiguous parts of the panels; sequence s has the units s, s + sequences, .. */
    sp_stage_shape shape;
    int most_steps;
    sp_step *step;
    int32_t *steps;
    uint4 *tile;
    sp_row_copy *load;
    plan_sums *sums;
};

/** A block's data while it plans. The table contains the rows of X that are in shared memory, and those of
 *  the panels considered for the step. */
struct state {
    int32_t key[TABLE];   /* row of X, or NO_ROW */
    int16_t value[TABLE]; /* its slot; NO_SLOT: it has none; MISSING plus an index: it must be copied in this
                             step */
    int first[TABLE];     /* the first panel of the step that needs it; NO_PANEL: none */
    /* The last step that used each slot. Slots are grouped by color: slot i has color i % COLORS. Rows of X
     * in slots of different colors are in different banks. */
    alignas(16) int used[COLORS][MOST_SLOTS / COLORS];
    int32_t held[MOST_SLOTS];    /* row of X in each slot */
    int16_t missing[MOST_SLOTS]; /* table indices of the rows to copy */
    int8_t color[MOST_SLOTS];    /* desired color of the slot of each row to copy; NO_COLOR: not chosen yet */
    int16_t free_slot[COLORS][MOST_SLOTS / COLORS];
    int free_count[COLORS], wanted[COLORS], taken[COLORS];
    int16_t left[MOST_SLOTS];
    int missing_count, left_count;
    /* for each panel, the number of rows of X that would have to be copied if the step began with this
     * panel */
    int more[SP_STEP_PANELS];
    int panels;             /* number of panels of the step; -1: even the first panel never fits */
    int32_t column[BUFFER]; /* columns of the panels considered for the step */
    /* first tile of each of these panels, and of the panel after them */
    int64_t tile_start[SP_STEP_PANELS + 1];
    int64_t value_start[SP_STEP_PANELS + 1];
};

__device__ inline int &used_of(state &s, int slot) { return s.used[slot % COLORS][slot / COLORS]; }

/** Returns true if the row of X in a slot must stay in step `now`. */
__device__ inline bool stays(state &s, int slot, int now) { return used_of(s, slot) > now - SP_STEP_DEPTH; }

/** Returns the table index of a row of X; inserts the row if it is not in the table. */
__device__ inline int place_of(state &s, int32_t row)
{
    bool added;
    return table_place(s.key, row, NO_ROW, &added);
}

/** Returns the value of a row of X that is in the table. */
__device__ inline int value_of(const state &s, int32_t row)
{
    int p = table_start<TABLE>(row);
    while (s.key[p] != row) p = (p + 1) % TABLE;
    return s.value[p];
}

/** Fills the table with the rows in shared memory. Returns how many of them must stay in step `now`. */
__device__ inline int begin_step(state &s, const plan_args &a, int now)
{
    int stay = 0;
    __syncthreads();
    for (int p = threadIdx.x; p < TABLE; p += PLANNERS) {
        s.key[p] = NO_ROW;
        s.value[p] = NO_SLOT;
        s.first[p] = NO_PANEL;
    }
    if (threadIdx.x == 0) s.missing_count = s.left_count = 0;
    if (threadIdx.x < COLORS) s.free_count[threadIdx.x] = s.wanted[threadIdx.x] = s.taken[threadIdx.x] = 0;
    if (threadIdx.x < SP_STEP_PANELS) s.more[threadIdx.x] = 0;
    __syncthreads();
    for (int first = 0; first < a.shape.slots; first += PLANNERS) {
        const int i = first + (int)threadIdx.x;
        const bool is = i < a.shape.slots && s.held[i] != NO_ROW;
        if (is) s.value[place_of(s, s.held[i])] = (int16_t)i;
        stay += __syncthreads_count(is && stays(s, i, now));
    }
    return stay;
}

/** Loads the data of panels, from panel `first` on, but not beyond `end` - 1. Returns the number of panels
 *  whose columns are in the buffer. */
__device__ inline int load_panels(state &s, const plan_args &a, int64_t first, int64_t end)
{
    const int most = (int)min((int64_t)SP_STEP_PANELS, end - first);
    if ((int)threadIdx.x <= most) {
        s.tile_start[threadIdx.x] = a.tile_start[first + threadIdx.x];
        s.value_start[threadIdx.x] = a.value_start[first + threadIdx.x];
    }
    __syncthreads();
    int count = most;
    while (count > 0 && (s.tile_start[count] - s.tile_start[0]) * COLORS > BUFFER) count--;
    for (int i = threadIdx.x; i < (s.tile_start[count] - s.tile_start[0]) * COLORS; i += PLANNERS)
        s.column[i] = a.col[s.tile_start[0] * COLORS + i];
    __syncthreads();
    return count;
}

/** Chooses the number of panels of the step: as many of the first `count` panels as fit. */
__device__ inline void choose_panels(state &s, const plan_args &a, int count, int stay, int now)
{
    for (int p = threadIdx.x / 32; p < count; p += PLANNERS / 32)
        for (int64_t t = s.tile_start[p] * COLORS + threadIdx.x % 32; t < s.tile_start[p + 1] * COLORS;
             t += 32)
            atomicMin(&s.first[place_of(s, s.column[t - s.tile_start[0] * COLORS])], p);
    __syncthreads();
    for (int p = threadIdx.x; p < TABLE; p += PLANNERS)
        if (s.first[p] < NO_PANEL && (s.value[p] == NO_SLOT || !stays(s, s.value[p], now)))
            atomicAdd(&s.more[s.first[p]], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        int held = stay, p = 0;
        for (; p < count && held + s.more[p] <= a.shape.slots; p++) {
            const int64_t tiles = s.tile_start[p + 1] - s.tile_start[0],
                          values = s.value_start[p + 1] - s.value_start[0];
            if (tiles * (int64_t)sizeof(uint4) + (values + SP_PANEL_PADDING) * a.shape.value_bytes >
                a.shape.capacity)
                break;
            held += s.more[p];
        }
        s.panels = p > 0 || (stay > 0 && count > 0 && stay + s.more[0] > a.shape.slots) ? p : -1;
    }
    __syncthreads();
}

/** Records the rows that the panels of the step use, and lists the rows to copy. */
__device__ inline void use_rows(state &s, int now)
{
    for (int p = threadIdx.x; p < TABLE; p += PLANNERS) {
        if (s.first[p] >= s.panels) continue;
        if (s.value[p] != NO_SLOT) {
            used_of(s, s.value[p]) = now;
            continue;
        }
        const int m = atomicAdd(&s.missing_count, 1);
        s.missing[m] = (int16_t)p;
        s.color[m] = NO_COLOR;
        s.value[p] = (int16_t)(MISSING + m);
    }
    __syncthreads();
}

/** Lists the slots that may be reassigned, by color, the least recently used one first. */
__device__ inline void list_free(state &s, const plan_args &a, int now)
{
    for (int i = threadIdx.x; i < a.shape.slots; i += PLANNERS) {
        const int color = i % COLORS, own = i / COLORS, last = s.used[color][own];
        if (stays(s, i, now)) continue;
        const int4 *const used = (const int4 *)s.used[color];
        int before = 0;
        for (int j = 0; j < MOST_SLOTS / COLORS / 4; j++) {
            const int4 u = used[j];
            before += (u.x < last || (u.x == last && 4 * j < own)) +
                      (u.y < last || (u.y == last && 4 * j + 1 < own)) +
                      (u.z < last || (u.z == last && 4 * j + 2 < own)) +
                      (u.w < last || (u.w == last && 4 * j + 3 < own));
        }
        s.free_slot[color][before] = (int16_t)i;
        atomicAdd(&s.free_count[color], 1);
    }
    __syncthreads();
}

/** Chooses the color of the slot of a row to copy: if possible a color that no other row of its tile has and
 *  that many free slots have. */
__device__ inline int choose_color(state &s, unsigned used)
{
    int best = 0, best_room = INT32_MIN;
    for (int c = 0; c < COLORS; c++) {
        const int room = s.free_count[c] - s.wanted[c] - (used >> c & 1) * TABLE;
        if (room <= best_room) continue;
        best = c;
        best_room = room;
    }
    atomicAdd(&s.wanted[best], 1);
    return best;
}

/** For each row of a tile that must be copied, chooses the color of its slot. The four rows of a tile are
 *  read together; they are in different banks if their slots have different colors. */
__device__ inline void color_tile(state &s, const int32_t *column)
{
    int value[COLORS];
    unsigned used = 0;
    for (int c = 0; c < COLORS; c++) {
        value[c] = value_of(s, column[c]);
        const int color = value[c] < MISSING ? value[c] % COLORS : s.color[value[c] - MISSING];
        if (color != NO_COLOR) used |= 1u << color;
    }
    for (int c = 0; c < COLORS; c++) {
        if (value[c] < MISSING || s.color[value[c] - MISSING] != NO_COLOR) continue;
        const int color = choose_color(s, used);
        s.color[value[c] - MISSING] = (int8_t)color;
        used |= 1u << color;
    }
}

/** Chooses the colors for the step, panel by panel. The lanes color the tiles of a panel independently,
 *  because these have no row of X in common (unless the rows of A contradict each other, see cuda_panels.cu).
 *  One warp does this, so that no block barrier is needed per panel. */
__device__ inline void choose_colors(state &s)
{
    for (int p = 0; p < s.panels && threadIdx.x < 32; p++) {
        for (int64_t t = s.tile_start[p] + threadIdx.x; t < s.tile_start[p + 1]; t += 32)
            color_tile(s, s.column + (t - s.tile_start[0]) * COLORS);
        __syncwarp();
    }
    __syncthreads();
}

__device__ inline int take_slot(state &s, int color)
{
    const int n = atomicAdd(&s.taken[color], 1);
    return n < s.free_count[color] ? s.free_slot[color][n] : NO_SLOT;
}

__device__ inline void fill_slot(state &s, const plan_args &a, int m, int slot, int64_t first_load, int now)
{
    const int place = s.missing[m];
    s.held[slot] = s.key[place];
    used_of(s, slot) = now;
    s.value[place] = (int16_t)slot;
    a.load[first_load + m] = {s.key[place], slot * (SP_STAGED_PITCH / 16)};
}

/** Assigns slots to the rows to copy: of the desired color, or of any color. */
__device__ inline void give_slots(state &s, const plan_args &a, int64_t first_load, int now)
{
    for (int m = threadIdx.x; m < s.missing_count; m += PLANNERS) {
        const int slot = take_slot(s, s.color[m]);
        if (slot != NO_SLOT)
            fill_slot(s, a, m, slot, first_load, now);
        else
            s.left[atomicAdd(&s.left_count, 1)] = (int16_t)m;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < s.left_count; i += PLANNERS) {
        int slot = NO_SLOT;
        for (int color = 0; slot == NO_SLOT; color = (color + 1) % COLORS) slot = take_slot(s, color);
        fill_slot(s, a, s.left[i], slot, first_load, now);
    }
    __syncthreads();
}

/** Writes the tiles of the step. */
__device__ inline void write_tiles(const state &s, const plan_args &a)
{
    for (int64_t t = s.tile_start[0] + threadIdx.x; t < s.tile_start[s.panels]; t += PLANNERS) {
        uint32_t place[COLORS];
        for (int c = 0; c < COLORS; c++)
            place[c] = (uint32_t)(value_of(s, s.column[(t - s.tile_start[0]) * COLORS + c]) *
                                  (SP_STAGED_PITCH / 16));
        int p = 0;
        while (s.tile_start[p + 1] <= t) p++;
        uint32_t value = (uint32_t)(s.value_start[p] - s.value_start[0]);
#pragma unroll 4
        for (int64_t u = s.tile_start[p]; u < t; u++) value += __popc(a.mask[u]);
        a.tile[t] = make_uint4(place[0] | place[1] << 16, place[2] | place[3] << 16, a.mask[t], value);
    }
}

/** Plans a step that starts at panel `first` and ends before panel `end`. Returns the number of its panels: 0
 *  if the rows that stay leave no space, -1 if the first panel never fits. */
__device__ inline int plan_step(state &s, const plan_args &a, int64_t first, int64_t end, int now,
                                int64_t first_load, sp_step *step)
{
    const int stay = begin_step(s, a, now);
    choose_panels(s, a, load_panels(s, a, first, end), stay, now);
    const int count = s.panels;
    if (count < 0) return -1;
    use_rows(s, now);
    list_free(s, a, now);
    choose_colors(s);
    give_slots(s, a, first_load, now);
    write_tiles(s, a);
    if ((int)threadIdx.x < count)
        step->end[threadIdx.x] = (uint16_t)(s.tile_start[threadIdx.x + 1] - s.tile_start[0]);
    if (threadIdx.x == 0) {
        step->first_tile = s.tile_start[0];
        step->first_value = s.value_start[0];
        step->first_load = first_load;
        step->first_panel = (int32_t)first;
        step->panels = count;
        step->tiles = (int32_t)(s.tile_start[count] - s.tile_start[0]);
        step->values = (int32_t)(s.value_start[count] - s.value_start[0]);
        step->loads = s.missing_count;
    }
    return count;
}

/** Returns the first panel of a unit. Without given units, all units have about the same work. The work of a
 *  panel is the mean of its share of the panels and its share of the tiles. */
__device__ inline int64_t unit_begin(const plan_args &a, int unit)
{
    if (a.unit_start) return a.unit_start[unit];
    if (a.even) return a.panels * unit / a.units;
    if (unit == a.units) return a.panels;
    const double panels = (double)a.panels, tiles = (double)a.tile_start[a.panels],
                 before = 2.0 * unit / a.units;
    int64_t low = 0, high = a.panels;
    while (low < high) {
        const int64_t mid = (low + high) / 2;
        if ((double)mid / panels + (double)a.tile_start[mid] / tiles < before)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

__global__ void __launch_bounds__(PLANNERS, 1) plan_sequences(const __grid_constant__ plan_args a)
{
    extern __shared__ int4 memory[];
    state &s = *(state *)memory;
    const int sequence = blockIdx.x;
    sp_step *const steps = a.step + (int64_t)sequence * a.most_steps;
    int now = 0;
    unsigned long long copies = 0;
    for (int i = threadIdx.x; i < MOST_SLOTS; i += PLANNERS) {
        s.held[i] = NO_ROW;
        used_of(s, i) = i < a.shape.slots ? -SP_STEP_DEPTH
                                          : INT32_MAX; /* slots past the last one are never free */
    }
    for (int u = sequence; u < a.units; u += a.shape.sequences) {
        const int64_t begin = unit_begin(a, u), end = unit_begin(a, u + 1);
        int64_t load = a.tile_start[begin] * COLORS;
        for (int64_t p = begin; p < end; now++) {
            const int count = plan_step(s, a, p, end, now, load, steps + now);
            if (count < 0) {
                if (threadIdx.x == 0) a.sums->failed = 1;
                return;
            }
            load += s.missing_count;
            copies += s.missing_count;
            p += count;
        }
    }
    if (threadIdx.x > 0) return;
    a.steps[sequence] = now;
    atomicAdd(&a.sums->steps, (unsigned long long)now);
    atomicAdd(&a.sums->copies, copies);
}

spmm_status allocate_plan(sp_staging *p, int64_t tiles)
{
    const int64_t steps = (int64_t)p->shape.sequences * p->most_steps;
    TRY(sp_device_alloc((void **)&p->step, steps * (int64_t)sizeof *p->step, "steps of staged panels"));
    TRY(sp_device_alloc((void **)&p->steps, p->shape.sequences * (int64_t)sizeof *p->steps,
                        "steps of staged panels"));
    TRY(sp_device_alloc((void **)&p->tile, tiles * (int64_t)sizeof *p->tile, "tiles of staged panels"));
    return sp_device_alloc((void **)&p->load, tiles * COLORS * (int64_t)sizeof *p->load,
                           "copies of staged panels");
}

/** Creates the plan. \param [out] sums totals over its steps */
spmm_status make_plan(const sp_matrix *m, sp_staging *p, int units, plan_sums *sums)
{
    plan_sums *of_all;
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    TRY(allocate_plan(p, m->bytes[SP_MASK] / (int64_t)sizeof *m->mask));
    TRY(sp_device_alloc((void **)&of_all, sizeof *of_all, "a plan"));
    spmm_status status = sp_device_zero(of_all, sizeof *of_all);
    if (status == SPMM_OK) {
        const plan_args a = {m->tile_start, m->row_start,   m->col,  m->mask,  m->groups,
                             m->unit_start, m->leaves == 0, units,   p->shape, p->most_steps,
                             p->step,       p->steps,       p->tile, p->load,  of_all};
        (void)cudaFuncSetAttribute(plan_sequences, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   sizeof(state));
        plan_sequences<<<p->shape.sequences, PLANNERS, sizeof(state), stream>>>(a);
        status = sp_device_launched("plan of staged panels");
    }
    if (status == SPMM_OK) status = sp_device_download(sums, of_all, sizeof *sums);
    sp_device_free(of_all);
    p->all_steps = (int64_t)sums->steps;
    p->copies = (int64_t)sums->copies;
    return status;
}

} // namespace

spmm_status sp_staging_plan(const sp_matrix *m, const sp_stage_shape *shape, sp_staging **plan)
{
    /* UNIT: panels per unit, if the matrix has no units. Blocks process neighboring units at the same time,
     * so that rows that one block copies are in the L2 cache for the other blocks. */
    static const int64_t UNIT = 160;
    plan_sums sums = {};
    *plan = NULL;
    sp_staging *p;
    TRY(sp_alloc_zero((void **)&p, 1, sizeof *p, "a plan"));
    p->shape = *shape;
    const int64_t each = (m->groups + shape->sequences * UNIT / 2) / (shape->sequences * UNIT);
    const int64_t units = m->units > 0 ? m->units : shape->sequences * (each < 1 ? 1 : each),
                  largest = m->units > 0 ? m->unit_groups : (m->groups + units - 1) / units;
    p->most_steps = (int)(2 * (m->leaves > 0 ? 2 * largest + 1 : largest) *
                              ((units + shape->sequences - 1) / shape->sequences) +
                          2);
    const spmm_status status = make_plan(m, p, (int)units, &sums);
    if (status == SPMM_OK && !sums.failed)
        *plan = p;
    else
        sp_staging_free(p);
    return status;
}

void sp_staging_free(sp_staging *plan)
{
    if (!plan) return;
    sp_device_free(plan->step);
    sp_device_free(plan->steps);
    sp_device_free(plan->tile);
    sp_device_free(plan->load);
    sp_free(plan);
}
