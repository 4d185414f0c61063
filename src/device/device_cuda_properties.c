/** Lists the properties of a GPU as text, like deviceQuery of the CUDA samples. CUDA 13 has removed clocks
 *  and other members from cudaDeviceProp, so all values are queried as attributes. */
#include <stdio.h>
#include <string.h>

#include "device/device_cuda.h"

/** The format of the numbers of a property. */
enum form { NUMBER, YES_NO, CLOCK };

/** The GPU that is described, for functions that query several attributes. */
typedef struct query {
    sp_device_info info;
    char *text; /* [size], destination of the value */
    size_t size;
} query;

/** Queries an attribute. \return 1: success, 0: the driver does not know the attribute */
static int ask(const query *q, enum cudaDeviceAttr attribute, int *value)
{
    *value = 0;
    if (cudaDeviceGetAttribute(value, attribute, q->info.index) == cudaSuccess) return 1;
    (void)cudaGetLastError();
    return 0;
}

static void name_text(const query *q) { snprintf(q->text, q->size, "%.70s", q->info.name); }

static void capability_text(const query *q)
{
    snprintf(q->text, q->size, "%d.%d", q->info.major, q->info.minor);
}

static void versions_text(const query *q)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    snprintf(q->text, q->size, "%d.%d, %d.%d", driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
}

/** Returns the number of FP32 cores of a multiprocessor, from "Arithmetic Instructions" of the CUDA C++
 *  Programming Guide, because CUDA has no attribute for it. 0: the compute capability is not in that
 *  table. */
static int cores_of(const sp_device_info *info)
{
    static const struct {
        int capability, cores;
    } known[] = {{60, 64},  {61, 128}, {62, 128}, {70, 64},   {72, 64},   {75, 64},   {80, 64},   {86, 128},
                 {87, 128}, {89, 128}, {90, 128}, {100, 128}, {103, 128}, {110, 128}, {120, 128}, {121, 128}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].capability == info->major * 10 + info->minor) return known[i].cores;
    return 0;
}

static void cores_text(const query *q)
{
    const int cores = cores_of(&q->info);
    if (cores > 0) snprintf(q->text, q->size, "%d (%d in all)", cores, cores * q->info.multiprocessors);
}

static void memory_text(const query *q)
{
    snprintf(q->text, q->size, "%lld bytes", (long long)q->info.memory_bytes);
}

/** Writes the theoretical bandwidth from the memory's clock and width, with two transfers per clock. */
static void bandwidth_text(const query *q)
{
    int clock, width;
    if (ask(q, cudaDevAttrMemoryClockRate, &clock) && ask(q, cudaDevAttrGlobalMemoryBusWidth, &width) &&
        clock > 0)
        snprintf(q->text, q->size, "%.1f GB/s", 2e3 * clock * (width / 8.0) / 1e9);
}

static void compute_mode_text(const query *q)
{
    static const char *const modes[] = {"default", "exclusive thread", "prohibited", "exclusive process"};
    int mode;
    if (ask(q, cudaDevAttrComputeMode, &mode) && mode >= 0 && mode < (int)(sizeof modes / sizeof *modes))
        snprintf(q->text, q->size, "%s", modes[mode]);
}

static void pci_text(const query *q) { snprintf(q->text, q->size, "%s", q->info.pci); }

/** A property: a function that writes its value, or attributes whose values are written one after another. */
static const struct row {
    const char *name;
    void (*write)(const query *q);
    const char *unit;
    enum form form;
    enum cudaDeviceAttr attribute[3]; /* 0: unused */
} rows[] = {
#define TEXT(words, function) .name = (words), .write = (function)
#define ONE(words, what, unit_) .name = (words), .unit = (unit_), .attribute = {cudaDevAttr##what}
#define SWITCH(words, what) .name = (words), .form = YES_NO, .attribute = {cudaDevAttr##what}
#define HERTZ(words, what) .name = (words), .unit = " MHz", .form = CLOCK, .attribute = {cudaDevAttr##what}
#define EACH(words, x, y, z) \
    .name = (words), .unit = "", .attribute = {cudaDevAttr##x, cudaDevAttr##y, cudaDevAttr##z}
#define PAIR(words, x, y) .name = (words), .unit = "", .attribute = {cudaDevAttr##x, cudaDevAttr##y}
    {TEXT("name", name_text)},
    {TEXT("CUDA of driver, of runtime", versions_text)},
    {TEXT("compute capability", capability_text)},
    {ONE("multiprocessors", MultiProcessorCount, "")},
    {TEXT("FP32 cores per multiprocessor", cores_text)},
    {ONE("rate of f32 to f64", SingleToDoublePrecisionPerfRatio, " : 1")},
    {HERTZ("clock", ClockRate)},
    {HERTZ("memory clock", MemoryClockRate)},
    {ONE("memory bus width", GlobalMemoryBusWidth, " bits")},
    {TEXT("theoretical bandwidth", bandwidth_text)},
    {TEXT("global memory", memory_text)},
    {ONE("L2 cache", L2CacheSize, " bytes")},
    {ONE("L2 cache that can persist", MaxPersistingL2CacheSize, " bytes")},
    {ONE("constant memory", TotalConstantMemory, " bytes")},
    {ONE("shared memory per block", MaxSharedMemoryPerBlock, " bytes")},
    {ONE("shared memory per block, opt-in", MaxSharedMemoryPerBlockOptin, " bytes")},
    {ONE("shared memory reserved per block", ReservedSharedMemoryPerBlock, " bytes")},
    {ONE("shared memory per multiprocessor", MaxSharedMemoryPerMultiprocessor, " bytes")},
    {ONE("registers per block", MaxRegistersPerBlock, "")},
    {ONE("registers per multiprocessor", MaxRegistersPerMultiprocessor, "")},
    {ONE("warp size", WarpSize, " threads")},
    {ONE("threads per block", MaxThreadsPerBlock, "")},
    {ONE("threads per multiprocessor", MaxThreadsPerMultiProcessor, "")},
    {ONE("blocks per multiprocessor", MaxBlocksPerMultiprocessor, "")},
    {EACH("block, at most", MaxBlockDimX, MaxBlockDimY, MaxBlockDimZ)},
    {EACH("grid, at most", MaxGridDimX, MaxGridDimY, MaxGridDimZ)},
    {ONE("pitch, at most", MaxPitch, " bytes")},
    {ONE("texture alignment", TextureAlignment, " bytes")},
    {ONE("surface alignment", SurfaceAlignment, " bytes")},
    {ONE("texture in 1D, at most", MaxTexture1DWidth, "")},
    {PAIR("texture in 2D, at most", MaxTexture2DWidth, MaxTexture2DHeight)},
    {EACH("texture in 3D, at most", MaxTexture3DWidth, MaxTexture3DHeight, MaxTexture3DDepth)},
    {PAIR("texture in 1D x layers, at most", MaxTexture1DLayeredWidth, MaxTexture1DLayeredLayers)},
    {EACH("texture in 2D x layers, at most", MaxTexture2DLayeredWidth, MaxTexture2DLayeredHeight,
          MaxTexture2DLayeredLayers)},
    {ONE("copy engines beside kernels", AsyncEngineCount, "")},
    {SWITCH("concurrent kernels", ConcurrentKernels)},
    {SWITCH("stream priorities", StreamPrioritiesSupported)},
    {SWITCH("time limit of kernels", KernelExecTimeout)},
    {SWITCH("compute preemption", ComputePreemptionSupported)},
    {SWITCH("cooperative launch", CooperativeLaunch)},
    {SWITCH("ECC", EccEnabled)},
    {SWITCH("integrated", Integrated)},
    {SWITCH("host memory can be mapped", CanMapHostMemory)},
    {SWITCH("unified addressing", UnifiedAddressing)},
    {SWITCH("managed memory", ManagedMemory)},
    {SWITCH("managed memory beside the host", ConcurrentManagedAccess)},
    {SWITCH("access to pageable memory", PageableMemoryAccess)},
    {SWITCH("memory pools", MemoryPoolsSupported)},
    {TEXT("compute mode", compute_mode_text)},
    {TEXT("PCI domain:bus:device.function", pci_text)},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)SP_DEVICE_PROPERTIES, "sp_device_properties() has room for all");

static void write_attributes(const query *q, const struct row *row)
{
    size_t n = 0;
    int value;
    for (int i = 0; i < 3 && (i == 0 || row->attribute[i] != 0) && n < q->size; i++) {
        if (!ask(q, row->attribute[i], &value)) return;
        if (row->form == YES_NO)
            n += (size_t)snprintf(q->text + n, q->size - n, "%s", value ? "yes" : "no");
        else if (row->form == CLOCK && value > 0)
            n += (size_t)snprintf(q->text + n, q->size - n, "%.0f%s", value / 1e3, row->unit);
        else if (row->form == NUMBER)
            n += (size_t)snprintf(q->text + n, q->size - n, "%s%d%s", i > 0 ? " x " : "", value, row->unit);
    }
}

spmm_status sp_device_properties(int index, sp_device_property *list, int *count)
{
    query q = {.size = sizeof list->value};
    *count = 0;
    TRY(sp_device_describe(index, &q.info));
    for (int i = 0; i < ROWS; i++) {
        list[i] = (sp_device_property){rows[i].name, "unknown"};
        q.text = list[i].value;
        if (rows[i].write)
            rows[i].write(&q);
        else
            write_attributes(&q, &rows[i]);
    }
    *count = ROWS;
    return SPMM_OK;
}
