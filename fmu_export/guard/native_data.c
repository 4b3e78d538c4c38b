/* The data file of a native FMU (fmu_export/native/data.py): read once for all instances of an FMU.  An FMU of sources
 * (SOURCE_FMU) has it as an array, and reads no file. */
#include "native.h"

static Data *loaded;

const void *section(const Data *data, int k, size_t *n)
{
    const int64_t *places = (const int64_t *)(const void *)(data->bytes + sizeof DATA_MAGIC - 1 + 8);
    if (n)
        *n = (size_t)places[2 * k + 1];
    return data->bytes + places[2 * k];
}

size_t count(const Data *data, int k, size_t width)
{
    size_t n;
    section(data, k, &n);
    return n / width;
}

/* The text number k of a section of texts. */
String text_of(const Data *data, int name, size_t k)
{
    const char *text = section(data, name, NULL);
    while (k--)
        text += length(text) + 1;
    return text;
}

size_t variables_of(const Data *data)
{
    return count(data, SECTION_ROLES, sizeof(int64_t));
}

size_t saved_variables(const Data *data)
{
    return (size_t)NUMBER(data, N_SAVED);
}

static const void *kernel_of(const Kernel *table, String name)
{
    while (table->name && !same(table->name, name))
        table++;
    return table->address;
}

#if defined(__x86_64__) && !defined(SOURCE_FMU)
static void cpuid(uint32_t leaf, uint32_t part, uint32_t r[4])
{
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(part));
}

/* Which code this processor can run: 0 with fused multiply-add and all else of x86-64-v3, 1 without. */
static int kind_of_code(void)
{
    uint32_t r[4], low, high;
    cpuid(0, 0, r);
    if (r[0] < 7)
        return 1;
    cpuid(1, 0, r);
    /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    uint32_t first = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
    if ((r[2] & first) != first)
        return 1;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    cpuid(7, 0, r);
    /* BMI1, AVX2, BMI2 */
    uint32_t second = 1u << 3 | 1u << 5 | 1u << 8;
    if ((low & 6) != 6 || (r[1] & second) != second)
        return 1;
    cpuid(0x80000001u, 0, r);
    return !(r[2] & 1u << 5);
}
#else
static int kind_of_code(void)
{
    return 0;
}
#endif

static String MISFIT = "machine.bin does not belong to this library: build the FMU anew.";

/* Find kernels and names; NULL, or what is wrong. */
static String resolve(Data *data)
{
    static const char *const entries[] = {ENTRY_NAMES};
    int kind = kind_of_code();
    const Kernel *table = kernels[kind < kinds_of_code ? kind : kinds_of_code - 1];
    for (int k = 0; k < N_ENTRIES; k++)
        if (!(data->entries[k] = kernel_of(table, entries[k])))
            return MISFIT;
    size_t n, codes = 0;
    const char *text = section(data, SECTION_CODES, &n);
    for (size_t k = 0; k < n; k++)
        codes += !text[k];
    data->codes = grab((codes + 1) * sizeof *data->codes);
    data->names = grab((variables_of(data) + 1) * sizeof *data->names);
    if (!data->codes || !data->names)
        return "there is no memory.";
    for (size_t k = 0; k < codes; k++, text += length(text) + 1)
        if (!(data->codes[k] = kernel_of(table, text)))
            return MISFIT;
    String name = section(data, SECTION_NAMES, NULL);
    for (size_t k = 0; k < variables_of(data); k++, name += length(name) + 1)
        data->names[k] = name;
    return NULL;
}

#ifdef SOURCE_FMU
int has_data(String folder)
{
    (void)folder;
    return 1;
}

static const char *bytes_of(String folder, size_t *size)
{
    (void)folder;
    *size = size_of_machine_data;
    return (const char *)machine_data;
}

static void drop_bytes(const char *bytes)
{
    (void)bytes;
}
#else
static char *file_in(String folder)
{
    return *folder ? joined(folder, "/machine.bin", "") : NULL;
}

static size_t size_of(const char *file)
{
    char start[sizeof DATA_MAGIC + 8];
    int64_t size = 0;
    if (beginning(file, start, sizeof start) < sizeof start - 1)
        return 0;
    for (size_t k = 0; k < sizeof DATA_MAGIC - 1; k++)
        if (start[k] != DATA_MAGIC[k])
            return 0;
    for (int k = 7; k >= 0; k--)
        size = size << 8 | (unsigned char)start[sizeof DATA_MAGIC - 1 + k];
    return size > 0 ? (size_t)size : 0;
}

int has_data(String folder)
{
    char *file = file_in(folder);
    size_t size = file ? size_of(file) : 0;
    drop(file);
    return size > 0;
}

static void drop_bytes(const char *bytes)
{
    drop((void *)(uintptr_t)bytes);
}

/* The whole file, or NULL. */
static const char *bytes_of(String folder, size_t *size)
{
    char *file = file_in(folder);
    *size = file ? size_of(file) : 0;
    char *bytes = *size ? grab(*size + 1) : NULL;
    int whole = bytes && beginning(file, bytes, *size + 1) == *size;
    drop(file);
    if (whole)
        return bytes;
    drop(bytes);
    return NULL;
}
#endif

static void release(Data *data)
{
    if (!data)
        return;
    drop_bytes(data->bytes);
    drop(data->codes);
    drop(data->names);
    drop(data);
}

/* The data of a folder, which other instances may have loaded from another one: the GUID stands for the content. */
String load_data(String folder, Data **out)
{
    size_t size;
    const char *bytes = bytes_of(folder, &size);
    Data *data = bytes ? grab(sizeof *data) : NULL;
    if (!data) {
        drop_bytes(bytes);
        return "machine.bin in the resources of the FMU is not whole, or there is no memory.";
    }
    data->bytes = bytes, data->size = size;
    lock();
    String wrong = NULL, guid = section(data, SECTION_GUID, NULL);
    Data *known = loaded;
    while (known && !same(section(known, SECTION_GUID, NULL), guid))
        known = known->next;
    if (known) {
        release(data);
        data = known;
    } else if (!(wrong = resolve(data))) {
        data->next = loaded;
        loaded = data;
    }
    if (!wrong)
        data->users++;
    unlock();
    if (wrong)
        release(data);
    else
        *out = data;
    return wrong;
}

void unload_data(Data *data)
{
    if (!data)
        return;
    lock();
    if (!--data->users) {
        Data **link = &loaded;
        while (*link != data)
            link = &(*link)->next;
        *link = data->next;
        release(data);
    }
    unlock();
}
