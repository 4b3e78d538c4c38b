/* What stands behind an instance of a native FMU: the machine of liegeo/machine, as compiled kernels, and a data file.
 *
 * There is no mechanics here and no stepping: a record of addresses is laid out as the data file says, kernels move
 * what it names, and texts come from the data file.  machine.h, which is made with the library, has the names of all
 * numbers that the file and the kernels share.  Nothing is allocated in a step.
 */
#include "fmu.h"
#include "machine.h"
#include "native.h"
#include "system.h"

#ifdef _WIN32
/* the run-time library of Windows has no such function, and LLVM makes calls of it */
__declspec(dllimport) double sin(double x);
__declspec(dllimport) double cos(double x);
void sincos(double x, double *s, double *c)
{
    *s = sin(x), *c = cos(x);
}
#endif

/* The data file, once for all instances of an FMU. */
typedef struct Data {
    const char *bytes;
    size_t size;
    const void **codes; /* addresses of the kernels that it names, by number */
    const void *entries[N_ENTRIES];
    String *names;
    int users;
    struct Data *next;
} Data;

typedef struct {
    Data *data;
    Real *values;
    char *is_set;   /* by variable: whether the host has set the parameter */
    String *texts;  /* by variable of type String, in order: its value; memory of ours where is_set */
    Real *slopes;   /* first and second derivatives of inputs in the next step; NaN where none is given */
    Real *start;    /* y where the motion began */
    void *arena;    /* all arrays of the record, for one method */
    int64_t R[R_SIZE];
    int64_t method; /* for which the arena is laid out; −1: none */
    int made;       /* whether the record is that of the parameters as they are */
    Text words;
} Machine;

/* A state that somebody keeps: the same bytes as Python's (fmu_export/saved_state.py). */
typedef struct {
    size_t n;
    char bytes[];
} Saved;

static Data *loaded;

/* ---- the data file */

static const void *section(const Data *data, int k, size_t *n)
{
    const int64_t *places = (const int64_t *)(const void *)(data->bytes + sizeof DATA_MAGIC - 1 + 8);
    if (n)
        *n = (size_t)places[2 * k + 1];
    return data->bytes + places[2 * k];
}

#define INTS(data, name) ((const int64_t *)section(data, SECTION_##name, NULL))
#define REALS(data, name) ((const Real *)section(data, SECTION_##name, NULL))
#define NUMBER(data, name) (REALS(data, NUMBERS)[NUMBER_##name])

static size_t count(const Data *data, int k, size_t width)
{
    size_t n;
    section(data, k, &n);
    return n / width;
}

/* The text number k of a section of texts. */
static String text_of(const Data *data, int name, size_t k)
{
    const char *text = section(data, name, NULL);
    while (k--)
        text += length(text) + 1;
    return text;
}

static size_t variables_of(const Data *data)
{
    return count(data, SECTION_ROLES, sizeof(int64_t));
}

static const void *kernel_of(const Kernel *table, String name)
{
    while (table->name && !same(table->name, name))
        table++;
    return table->address;
}

#if defined(__x86_64__)
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

static String MISFIT = "fmi2Instantiate: machine.bin does not belong to this library: build the FMU anew.";

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
        return "fmi2Instantiate: there is no memory.";
    for (size_t k = 0; k < codes; k++, text += length(text) + 1)
        if (!(data->codes[k] = kernel_of(table, text)))
            return MISFIT;
    String name = section(data, SECTION_NAMES, NULL);
    for (size_t k = 0; k < variables_of(data); k++, name += length(name) + 1)
        data->names[k] = name;
    return NULL;
}

static void release(Data *data)
{
    if (!data)
        return;
    drop((void *)(uintptr_t)data->bytes);
    drop(data->codes);
    drop(data->names);
    drop(data);
}

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

static int has_data(String folder)
{
    char *file = file_in(folder);
    size_t size = file ? size_of(file) : 0;
    drop(file);
    return size > 0;
}

/* The data of a folder, which other instances may have loaded from another one: the GUID stands for the content. */
static String load(String folder, Data **out)
{
    char *file = file_in(folder);
    size_t size = file ? size_of(file) : 0;
    Data *data = size ? grab(sizeof *data) : NULL;
    char *bytes = data ? grab(size + 1) : NULL;
    int whole = bytes && beginning(file, bytes, size + 1) == size;
    drop(file);
    if (!whole) {
        drop(bytes);
        drop(data);
        return "fmi2Instantiate: machine.bin in the resources of the FMU is not whole, or there is no memory.";
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

static void unload(Data *data)
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

/* ---- kernels: int32 kernel(result *, exception **, the record as an array, …) */

#define ARRAY void *, void *, int64_t, int64_t, const void *, int64_t, int64_t
#define THE(array, n) NULL, NULL, (int64_t)(n), 8, array, (int64_t)(n), 8
#define RUN(machine, entry, type, ...)                                                                                 \
    (raised = ((int32_t(*)(int64_t *, void **, ARRAY type))(uintptr_t)(machine)->data->entries[entry])(                \
         &answer, &exception, THE((machine)->R, R_SIZE) __VA_ARGS__),                                                  \
     raised ? (int64_t)WHY_STEP_FAILED : answer)
#define CALLS                                                                                                          \
    int64_t answer = 0;                                                                                                \
    void *exception = NULL;                                                                                            \
    int32_t raised = 0;                                                                                                \
    (void)raised
#define COMMA ,

static int64_t plain(Machine *machine, int entry)
{
    CALLS;
    return RUN(machine, entry, , );
}

static int64_t at_time(Machine *machine, int entry, Real t)
{
    CALLS;
    return RUN(machine, entry, COMMA double, COMMA t);
}

static int64_t over(Machine *machine, int entry, Real t, Real size)
{
    CALLS;
    return RUN(machine, entry, COMMA double COMMA double, COMMA t COMMA size);
}

static int64_t with_number(Machine *machine, int entry, int64_t number)
{
    CALLS;
    return RUN(machine, entry, COMMA int64_t, COMMA number);
}

static int64_t with_array(Machine *machine, int entry, const Real *array, size_t n)
{
    CALLS;
    return RUN(machine, entry, COMMA ARRAY, COMMA THE(array, n));
}

static Real *reals(const Machine *machine, int place)
{
    return (Real *)(uintptr_t)machine->R[place];
}

static Real *state_of(const Machine *machine)
{
    return reals(machine, R_X);
}

static Real *control_of(const Machine *machine)
{
    return state_of(machine) + (size_t)NUMBER(machine->data, AT_CONTROL);
}

/* ---- words: texts of the data file, in which {} is a value */

static void put_until_value(Machine *machine, String *template)
{
    char one[2] = {0, 0};
    for (; **template && !((*template)[0] == '{' && (*template)[1] == '}'); (*template)++) {
        /* characters of more than a byte come whole: put mends what is none */
        const char *from = *template;
        int n = character(from);
        char many[5] = {0};
        for (int k = 0; k < n && k < 4; k++)
            many[k] = from[k];
        one[0] = *from;
        put(&machine->words, n > 1 ? many : one);
        *template += n > 1 ? n - 1 : 0;
    }
    if (**template)
        *template += 2;
}

static String template_of(Machine *machine, int text)
{
    machine->words.n = 0;
    return text_of(machine->data, SECTION_WORDS, (size_t)text);
}

/* A text with up to six values; a value is a text, or a number if that is NULL. */
typedef struct {
    String text;
    Real number;
} Value;

static String worded(Machine *machine, int text, const Value *values, int n)
{
    String template = template_of(machine, text);
    for (int k = 0; k < n; k++) {
        put_until_value(machine, &template);
        if (values[k].text)
            put(&machine->words, values[k].text);
        else
            put_number(&machine->words, values[k].number, SIX);
    }
    put_until_value(machine, &template);
    return machine->words.data ? machine->words.data : "";
}

static String status_words(const Data *data, int64_t status)
{
    const int64_t *known = INTS(data, STATUSES);
    size_t n = count(data, SECTION_STATUSES, sizeof *known);
    for (size_t k = 0; k < n; k++)
        if (known[k] == status)
            return text_of(data, SECTION_STATUS_WORDS, k);
    return "";
}

static Real largest(const Real *x, size_t n)
{
    Real most = 0.0;
    for (size_t k = 0; k < n; k++)
        if (!((x[k] < 0.0 ? -x[k] : x[k]) <= most))
            most = x[k] < 0.0 ? -x[k] : x[k];
    return most;
}

/* What an answer of a kernel means, before the state is taken back; `t` is when, `size` that of a step. */
static String why_of(Machine *machine, int64_t why, Real t, Real size)
{
    const Data *data = machine->data;
    int64_t status = (int64_t)control_of(machine)[CONTROL_STATUS];
    Real step = reals(machine, R_SETTINGS)[SETTING_STEP];
    if (why == WHY_TOO_MANY)
        return worded(machine, TEXT_TOO_MANY, (Value[]){{NULL, size / step}, {NULL, step}, {NULL, size}}, 3);
    if (why == WHY_OPEN_LOOPS || why == WHY_NOT_ASSEMBLED || why == WHY_NO_ROTATION)
        return worded(machine, why == WHY_OPEN_LOOPS ? TEXT_OPEN : why == WHY_NO_ROTATION ? TEXT_NO_ROTATION
                                                                                          : TEXT_NOT_ASSEMBLED, NULL, 0);
    size_t n = (size_t)NUMBER(data, N_ELEMENT);
    Real now = largest(state_of(machine) + (size_t)NUMBER(data, AT_Y), n), then = largest(machine->start, n);
    if (then < 1.0)
        then = 1.0;
    if (why == WHY_STEP_FAILED && !(now <= 1e6 * then)) {
        char grows[256];
        String made = worded(machine, TEXT_GROWS, (Value[]){{NULL, now}, {NULL, then}}, 2);
        size_t k = 0;
        for (; made[k] && k + 1 < sizeof grows; k++)
            grows[k] = made[k];
        grows[k] = 0;
        return worded(machine, TEXT_AT, (Value[]){{NULL, t}, {grows, 0.0}}, 2);
    }
    return worded(machine, TEXT_AT, (Value[]){{NULL, t}, {status_words(data, status), 0.0}}, 2);
}

/* ---- the record */

static int64_t address(const void *place)
{
    return (int64_t)(intptr_t)place;
}

/* How many bytes of its own an array of a row takes. */
static size_t own_bytes(const int64_t *row)
{
    if (row[1] != HOW_COPIED && row[1] != HOW_FRESH)
        return 0;
    int64_t n = row[3] * (row[4] ? row[4] : 1) * (row[5] ? row[5] : 1);
    return (size_t)(n + 1) * 8;
}

static char *lay_row(Machine *machine, const int64_t *row, char *arena)
{
    const char *blob = section(machine->data, SECTION_BLOB, NULL);
    int64_t *place = machine->R + row[0];
    if (row[1] == HOW_NUMBER || row[1] == HOW_CODE) {
        *place = row[1] == HOW_NUMBER ? row[2] : address(machine->data->codes[row[2]]);
        return arena;
    }
    place[1] = row[3];
    for (int k = 1; k < 3 && row[3 + k]; k++)
        place[1 + k] = row[3 + k];
    if (row[1] == HOW_SHARED) {
        *place = address(blob + row[2]);
        return arena;
    }
    size_t n = own_bytes(row);
    for (size_t k = 0; k + 8 < n; k++)
        arena[k] = row[1] == HOW_COPIED ? blob[row[2] + (int64_t)k] : 0;
    *place = address(arena);
    return arena + n;
}

/* Addresses of the model in the numbers S that drive it; `which` of its whole numbers. */
static void lead_to_model(Machine *machine, int place, int which)
{
    const char *blob = section(machine->data, SECTION_BLOB, NULL);
    const int64_t *model = INTS(machine->data, MODEL);
    int64_t *S = (int64_t *)(intptr_t)machine->R[place];
    if (!machine->R[place + 1])
        return;
    S[DRIVE_S_I] = address(blob + model[2 * which]), S[DRIVE_S_NI] = model[2 * which + 1];
    S[DRIVE_S_F] = address(blob + model[6]), S[DRIVE_S_NF] = model[7];
}

/* All arrays for a method; whether there was memory. */
static int lay_out(Machine *machine, int64_t method)
{
    const Data *data = machine->data;
    const int64_t *rows = INTS(data, ROWS), *its = INTS(data, METHOD_ROWS);
    const int64_t *of_method = INTS(data, METHODS) + METHOD_NUMBERS * method;
    size_t n = count(data, SECTION_ROWS, 6 * sizeof *rows), bytes = 8;
    its += 6 * of_method[0];
    for (size_t k = 0; k < n; k++)
        bytes += own_bytes(rows + 6 * k);
    for (int64_t k = 0; k < of_method[1]; k++)
        bytes += own_bytes(its + 6 * k);
    void *arena = grab(bytes);
    if (!arena)
        return 0;
    drop(machine->arena);
    char *next = machine->arena = arena;
    for (size_t k = 0; k < R_SIZE; k++)
        machine->R[k] = 0;
    for (size_t k = 0; k < n; k++)
        next = lay_row(machine, rows + 6 * k, next);
    for (int64_t k = 0; k < of_method[1]; k++)
        next = lay_row(machine, its + 6 * k, next);
    lead_to_model(machine, R_S, 0);
    lead_to_model(machine, R_S_KEPT, 1);
    lead_to_model(machine, R_S_FREE, 2);
    int64_t *S = (int64_t *)(intptr_t)machine->R[R_S] + machine->R[R_S + 1] - N_ADDRESSES;
    const int64_t *dynamics = INTS(data, DYNAMICS);
    for (int k = 0; k < N_ADDRESSES; k++)
        S[k] = dynamics[k] < 0 ? 0 : address(data->codes[dynamics[k]]);
    machine->method = method;
    return 1;
}

/* ---- parameters */

/* The first variable of a role, or the number of variables. */
static size_t of_role(const Data *data, int role)
{
    const int64_t *roles = INTS(data, ROLES);
    size_t k = 0, n = variables_of(data);
    while (k < n && roles[k] != role)
        k++;
    return k;
}

/* The place of a variable of type String among those. */
static size_t text_number(const Data *data, size_t variable)
{
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    size_t found = 0;
    for (size_t k = 0; k < variable; k++)
        found += (kinds[k] & IS_STRING) != 0;
    return found;
}

static String text_value(const Machine *machine, int role)
{
    return machine->texts[text_number(machine->data, of_role(machine->data, role))];
}

/* A setting of the integrator in SI; the host has one tolerance, so the other goes with it. */
static Real setting(const Machine *machine, const Block *block, int role)
{
    const Data *data = machine->data;
    size_t k = of_role(data, role), rtol = of_role(data, ROLE_RTOL);
    Real value = machine->values[k], given = block->tolerance;
    if (!machine->is_set[k])
        value = REALS(data, VALUES)[k];
    if (role != ROLE_STEP && !machine->is_set[k] && 0.0 < given && given < 1.0 && !machine->is_set[rtol])
        value = role == ROLE_RTOL ? given : value * (given / REALS(data, VALUES)[rtol]);
    return value * REALS(data, FACTORS)[k];
}

/* The number of the method that the parameters name, or −1 with words. */
static int64_t chosen_method(Machine *machine, String *why)
{
    String name = text_value(machine, ROLE_METHOD);
    int64_t n = (int64_t)NUMBER(machine->data, N_METHODS);
    for (int64_t k = 0; k < n; k++) {
        String text = text_of(machine->data, SECTION_WORDS, (size_t)(N_TEXTS + k)), rest = text;
        String wanted = name;
        while (*wanted && *rest == *wanted)
            rest++, wanted++;
        if (*wanted || (*rest && *rest != '\n'))
            continue;
        if (!*rest)
            return k;
        *why = rest + 1;
        return -1;
    }
    *why = worded(machine, TEXT_NO_METHOD, (Value[]){{name, 0.0}}, 1);
    return -1;
}

/* Integrator's settings into the record; NULL, or what is wrong. */
static String set_up(Machine *machine, const Block *block)
{
    static const struct {
        int role, place;
        String name;
    } numbers[] = {{ROLE_STEP, SETTING_STEP, "step"}, {ROLE_RTOL, SETTING_RTOL, "rtol"}, {ROLE_ATOL, SETTING_ATOL, "atol"}};
    Real *settings = reals(machine, R_SETTINGS);
    for (int k = 0; k < 3; k++) {
        Real value = setting(machine, block, numbers[k].role);
        if (!(value > 0.0 && value - value == 0.0))
            return worded(machine, TEXT_NOT_POSITIVE, (Value[]){{numbers[k].name, 0.0}, {NULL, value}}, 2);
        settings[numbers[k].place] = value;
    }
    String extrapolation = text_value(machine, ROLE_EXTRAPOLATION);
    machine->R[R_LINEAR] = same(extrapolation, "linear");
    if (!machine->R[R_LINEAR] && !same(extrapolation, "hold"))
        return worded(machine, TEXT_NO_EXTRAPOLATION, (Value[]){{extrapolation, 0.0}}, 1);
    return NULL;
}

/* Inputs, gravity and the wished state into X. */
static void fill(Machine *machine)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    const Real *factors = REALS(data, FACTORS), *wished = REALS(data, WISHED);
    Real *X = state_of(machine), *weight = X + (size_t)NUMBER(data, AT_GRAVITY), *y = X + (size_t)NUMBER(data, AT_Y);
    size_t input = 0;
    for (int k = 0; k < 3; k++)
        weight[k] = REALS(data, GRAVITY)[k];
    for (size_t k = 0; k < (size_t)NUMBER(data, N_ELEMENT); k++)
        y[k] = wished[k];
    for (size_t k = 0; k < variables_of(data); k++) {
        Real value = machine->values[k] * factors[k];
        if (roles[k] == ROLE_AN_INPUT)
            X[X_INPUTS + input++] = value;
        else if (roles[k] == ROLE_WEIGHT && machine->is_set[k])
            weight[keys[k]] = value;
        else if (roles[k] == ROLE_WISH && machine->is_set[k])
            y[keys[k]] = value;
    }
}

/* Parameters that follow from others: what is not set is as the model has it. */
static void show_parameters(Machine *machine)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    const Real *factors = REALS(data, FACTORS), *settings = reals(machine, R_SETTINGS), *X = state_of(machine);
    for (size_t k = 0; k < variables_of(data); k++) {
        if (machine->is_set[k])
            continue;
        if (roles[k] == ROLE_WISH)
            machine->values[k] = X[(size_t)NUMBER(data, AT_Y) + (size_t)keys[k]] / factors[k];
        else if (roles[k] == ROLE_WEIGHT)
            machine->values[k] = X[(size_t)NUMBER(data, AT_GRAVITY) + (size_t)keys[k]];
        else if (roles[k] == ROLE_STEP || roles[k] == ROLE_RTOL || roles[k] == ROLE_ATOL)
            machine->values[k] = settings[roles[k] == ROLE_STEP ? SETTING_STEP
                                                                : roles[k] == ROLE_RTOL ? SETTING_RTOL : SETTING_ATOL];
    }
}

/* The machine as the parameters want it, where it begins; NULL, or what is wrong. */
static String make(Machine *machine, const Block *block)
{
    const Data *data = machine->data;
    String why = NULL;
    int64_t method = chosen_method(machine, &why);
    if (method < 0)
        return why;
    if (!lay_out(machine, method))
        return text_of(data, SECTION_WORDS, TEXT_NO_MEMORY);
    why = set_up(machine, block);
    if (why)
        return why;
    Real start = block->start == block->start ? block->start : NUMBER(data, START);
    Real stop = block->stop == block->stop ? block->stop : NUMBER(data, STOP);
    fill(machine);
    int64_t wrong = at_time(machine, ENTRY_PLACE, start);
    if (!wrong)
        wrong = over(machine, ENTRY_START, start, stop > start ? stop : start + 1.0);
    const Real *y = state_of(machine) + (size_t)NUMBER(data, AT_Y);
    for (size_t k = 0; k < (size_t)NUMBER(data, N_ELEMENT); k++)
        machine->start[k] = y[k];
    return wrong ? why_of(machine, wrong, start, 0.0) : NULL;
}

/* The machine with the inputs as they are; made anew while parameters and inputs may still change it. */
static String moving(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    if (block->mode <= INITIALISING) {
        if (block->changed || !machine->made) {
            String why = make(machine, block);
            machine->made = !why;
            if (why)
                return why;
            show_parameters(machine);
        }
    } else if (block->changed) {
        const int64_t *roles = INTS(machine->data, ROLES);
        const Real *factors = REALS(machine->data, FACTORS);
        Real *inputs = state_of(machine) + X_INPUTS;
        for (size_t k = 0; k < variables_of(machine->data); k++)
            if (roles[k] == ROLE_AN_INPUT)
                *inputs++ = machine->values[k] * factors[k];
    }
    block->changed = 0;
    return NULL;
}

static Status wrong(Instance *instance, Status status, String why)
{
    instance->block.why = why;
    return status;
}

/* ---- what is asked */

/* What the kernels showed, as values of outputs, into an array by variable. */
static void take_outputs(Machine *machine, Real *into)
{
    const int64_t *roles = INTS(machine->data, ROLES);
    const Real *factors = REALS(machine->data, FACTORS), *shown = reals(machine, R_SHOWN);
    for (size_t k = 0; k < variables_of(machine->data); k++)
        if (roles[k] == ROLE_AN_OUTPUT)
            into[k] = *shown++ / factors[k];
}

static Status refresh(Instance *instance, int computed)
{
    Machine *machine = instance->machine;
    String why = moving(instance);
    if (!why) {
        int64_t answer = with_number(machine, ENTRY_SHOW, computed);
        if (answer)
            why = why_of(machine, answer, state_of(machine)[X_TIME], 0.0);
    }
    if (why)
        return wrong(instance, ERROR, why);
    take_outputs(machine, machine->values);
    instance->block.fresh = computed ? 2 : 1;
    return OK;
}

/* Derivatives of outputs, to where the host wants them. */
static Status give(Instance *instance, int64_t answer)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    if (answer)
        return wrong(instance, ERROR, why_of(machine, answer, state_of(machine)[X_TIME], 0.0));
    size_t first = of_role(machine->data, ROLE_AN_OUTPUT);
    const Real *factors = REALS(machine->data, FACTORS), *shown = reals(machine, R_SHOWN);
    for (size_t k = 0; k < block->n_references; k++)
        block->out[k] = shown[block->references[k] - first] / factors[block->references[k]];
    /* what was shown before is written over */
    block->fresh = 0;
    return OK;
}

static Status directional(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES);
    size_t first = of_role(data, ROLE_AN_INPUT);
    /* the slopes of the next step are not touched: there is room behind them */
    size_t n = (size_t)NUMBER(data, N_INPUTS);
    Real *direction = machine->slopes + 2 * n;
    for (size_t k = 0; k < n; k++)
        direction[k] = 0.0;
    for (size_t k = 0; k < block->n_known; k++) {
        if (roles[block->known[k]] != ROLE_AN_INPUT)
            return wrong(instance, ERROR, text_of(data, SECTION_WORDS, TEXT_ALONG_PARAMETERS));
        direction[block->known[k] - first] += block->given[k] * REALS(data, FACTORS)[block->known[k]];
    }
    return give(instance, with_array(machine, ENTRY_ALONG_INPUTS, direction, n));
}

static void take_slopes(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    size_t first = of_role(machine->data, ROLE_AN_INPUT);
    const Real *factors = REALS(machine->data, FACTORS);
    for (size_t k = 0; k < block->n_references; k++) {
        Reference r = block->references[k];
        if (block->orders[k] <= 2 && !(block->kinds[r] & IS_MOTION))
            machine->slopes[2 * (r - first) + (size_t)block->orders[k] - 1] = block->given[k] * factors[r];
    }
}

static Status ask(Instance *instance, int what)
{
    if (what == REFRESH || what == COMPLETE)
        return refresh(instance, what == COMPLETE);
    if (what == INPUT_RATES) {
        take_slopes(instance);
        return OK;
    }
    String why = moving(instance);
    if (why)
        return wrong(instance, ERROR, why);
    if (what == DIRECTIONAL)
        return directional(instance);
    return give(instance, plain(instance->machine, ENTRY_ALONG_MOTION));
}

/* ---- life */

static void forget_slopes(Machine *machine)
{
    for (size_t k = 0; k < 2 * (size_t)NUMBER(machine->data, N_INPUTS); k++)
        machine->slopes[k] = 0.0 / 0.0;
}

/* All parameters as the FMU has them. */
static void as_built(Machine *machine)
{
    const Data *data = machine->data;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    size_t text = 0;
    for (size_t k = 0; k < variables_of(data); k++) {
        if (kinds[k] & IS_STRING) {
            if (machine->is_set[k])
                drop((void *)(uintptr_t)machine->texts[text]);
            machine->texts[text] = text_of(data, SECTION_STRINGS, text);
            text++;
        }
        machine->values[k] = REALS(data, VALUES)[k];
        machine->is_set[k] = 0;
    }
    forget_slopes(machine);
    machine->made = 0;
}

static void close_machine(Instance *instance)
{
    Machine *machine = instance->machine;
    if (!machine)
        return;
    if (machine->data && machine->values && machine->is_set && machine->texts && machine->slopes)
        as_built(machine);
    drop(machine->values);
    drop(machine->is_set);
    drop(machine->texts);
    drop(machine->slopes);
    drop(machine->start);
    drop(machine->arena);
    drop(machine->words.data);
    unload(machine->data);
    drop(machine);
    instance->machine = NULL;
}

static void show_variables(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    block->guid = section(machine->data, SECTION_GUID, NULL);
    block->n = variables_of(machine->data);
    block->values = machine->values;
    block->kinds = section(machine->data, SECTION_KINDS, NULL);
    block->names = machine->data->names;
}

static String open_machine(Instance *instance, String folder)
{
    Machine *machine = grab(sizeof *machine);
    if (!machine)
        return "fmi2Instantiate: there is no memory.";
    instance->machine = machine;
    machine->method = -1;
    String why = load(folder, &machine->data);
    if (why)
        return why;
    const Data *data = machine->data;
    size_t n = variables_of(data), inputs = (size_t)NUMBER(data, N_INPUTS);
    machine->values = grab((n + 1) * sizeof *machine->values);
    machine->is_set = grab(n + 1);
    machine->texts = grab(((size_t)NUMBER(data, N_STRINGS) + 1) * sizeof *machine->texts);
    machine->slopes = grab((3 * inputs + 1) * sizeof *machine->slopes);
    machine->start = grab(((size_t)NUMBER(data, N_ELEMENT) + 1) * sizeof *machine->start);
    if (!machine->values || !machine->is_set || !machine->texts || !machine->slopes || !machine->start)
        return "fmi2Instantiate: there is no memory.";
    as_built(machine);
    show_variables(instance);
    return NULL;
}

static int never(void)
{
    return 0;
}

static Status enter(Instance *instance)
{
    ((Machine *)instance->machine)->made = 0;
    return OK;
}

static Status leave(Instance *instance)
{
    Machine *machine = instance->machine;
    Status status = refresh(instance, 1);
    if (status)
        return status;
    const Real *settings = reals(machine, R_SETTINGS);
    instance->block.time = state_of(machine)[X_TIME];
    Value values[] = {{NULL, instance->block.time},
                      {text_value(machine, ROLE_METHOD), 0.0},
                      {NULL, settings[SETTING_STEP]},
                      {NULL, settings[SETTING_RTOL]},
                      {NULL, settings[SETTING_ATOL]},
                      {text_value(machine, ROLE_EXTRAPOLATION), 0.0}};
    tell(instance, OK, worded(machine, TEXT_INITIALISED, values, 6), NULL);
    return OK;
}

static Status terminate(Instance *instance)
{
    (void)instance;
    return OK;
}

static Status reset(Instance *instance)
{
    as_built(instance->machine);
    show_variables(instance);
    return OK;
}

/* ---- parameters of the host */

static Status set_real(Instance *instance, const Reference *references, size_t n, const Real *values)
{
    Machine *machine = instance->machine;
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    int tuned = 0;
    for (size_t k = 0; k < n; k++) {
        Reference r = references[k];
        if (!(instance->block.kinds[r] & IS_PARAMETER))
            continue;
        machine->is_set[r] = 1;
        if (instance->block.mode == STEPPING && roles[r] == ROLE_WEIGHT) {
            Real *weight = state_of(machine) + (size_t)NUMBER(data, AT_GRAVITY);
            weight[keys[r]] = values[k] * REALS(data, FACTORS)[r];
            tuned = 1;
        }
    }
    if (tuned) {
        /* accelerations jump: a method starts anew */
        plain(machine, ENTRY_PUT_COEFFICIENTS);
        at_time(machine, ENTRY_RESTART, state_of(machine)[X_TIME]);
    } else if (instance->block.mode != STEPPING) {
        machine->made = 0;
    }
    return OK;
}

static Status set_string(Instance *instance, const Reference *references, size_t n, const String *values)
{
    Machine *machine = instance->machine;
    for (size_t k = 0; k < n; k++) {
        char *copy = copied(values[k]);
        if (!copy)
            return wrong(instance, ERROR, text_of(machine->data, SECTION_WORDS, TEXT_NO_MEMORY));
        size_t text = text_number(machine->data, references[k]);
        if (machine->is_set[references[k]])
            drop((void *)(uintptr_t)machine->texts[text]);
        machine->texts[text] = copy;
        machine->is_set[references[k]] = 1;
    }
    machine->made = 0;
    instance->block.fresh = 0;
    return OK;
}

static Status get_string(Instance *instance, const Reference *references, size_t n, String *values)
{
    Machine *machine = instance->machine;
    for (size_t k = 0; k < n; k++)
        values[k] = machine->texts[text_number(machine->data, references[k])];
    return OK;
}

/* ---- steps */

static int64_t communicate(Machine *machine, Real t, Real size)
{
    Real *slopes = reals(machine, R_SLOPES);
    for (size_t k = 0; k < 2 * (size_t)NUMBER(machine->data, N_INPUTS); k++)
        slopes[k] = machine->slopes[k];
    return over(machine, ENTRY_COMMUNICATE, t, size);
}

/* A step failed: go as far as internal steps succeed.  Next to a singular position other internal steps, which have to
 * end there, may fail where those did not: then less is tried. */
static void stop_early(Machine *machine, Real t, Real size)
{
    static const Real shares[] = {1.0, 1.0 - 1e-6, 1.0 - 1e-4, 0.99, 0.9};
    Real got = state_of(machine)[X_REACHED] - t;
    for (int k = 0; 0.0 < got && got < size && k < 5; k++) {
        if (!communicate(machine, t, shares[k] * got))
            return;
        plain(machine, ENTRY_TAKE_BACK);
    }
}

static Status do_step(Instance *instance, Real t, Real size)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    String why = moving(instance);
    if (why)
        return wrong(instance, ERROR, why);
    /* outputs that the host read after the step before it will read again */
    int asked = block->asked;
    block->asked = block->fresh = 0;
    int64_t answer = communicate(machine, t, size);
    if (answer) {
        const Real *X = state_of(machine);
        Real reached = control_of(machine)[CONTROL_TIME];
        why = why_of(machine, answer, reached > X[X_REACHED] ? reached : X[X_REACHED], size);
        plain(machine, ENTRY_TAKE_BACK);
        stop_early(machine, t, size);
        forget_slopes(machine);
        block->time = X[X_TIME];
        return wrong(instance, DISCARD, why);
    }
    forget_slopes(machine);
    block->time = t + size;
    if (asked && refresh(instance, asked == 2))
        block->fresh = 0, block->why = NULL;
    return OK;
}

/* ---- states
 *
 * DATA_STATE, then: mode, changed, numbers of variables, of numbers of the machine (0: there is none) and of bytes of
 * texts; start, stop, tolerance, time; of each variable its value and whether it was set; slopes; the machine's state;
 * texts: of variables of type String that can be set, then those parameters of the model file that were set.
 */

enum { STATE_HEAD = 16 + 64, STATE_INTS = 5, STATE_REALS = 4 };

static Real *state_numbers(char *bytes)
{
    return (Real *)(void *)(bytes + STATE_HEAD);
}

/* Whether a variable is of type String and can be set. */
static int is_setting(const Data *data, size_t k)
{
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    return (kinds[k] & IS_STRING) && (kinds[k] & IS_PARAMETER);
}

static Status get_state(Instance *instance, State *state)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    if (STEPPING <= block->mode && block->mode < BROKEN)
        moving(instance);
    size_t n = variables_of(data), inputs = (size_t)NUMBER(data, N_INPUTS), texts = 1, text = 0;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    for (size_t k = 0, number = 0; k < n; number += (kinds[k++] & IS_STRING) != 0)
        if (is_setting(data, k))
            texts += length(machine->texts[number]) + 1;
    size_t moved = machine->made ? (size_t)machine->R[R_N_STATE] : 0;
    size_t numbers = STATE_INTS + STATE_REALS + 2 * n + 2 * inputs + moved, bytes = STATE_HEAD + 8 * numbers + texts;
    Saved *saved = grab(sizeof *saved + bytes);
    if (!saved)
        return wrong(instance, ERROR, text_of(data, SECTION_WORDS, TEXT_NO_MEMORY));
    saved->n = bytes;
    static const char magic[17] = "liegeo-state-6\n";
    const char *identity = section(data, SECTION_IDENTITY, NULL);
    for (size_t k = 0; k < 16; k++)
        saved->bytes[k] = magic[k];
    for (size_t k = 0; k < 64; k++)
        saved->bytes[16 + k] = identity[k];
    Real *out = state_numbers(saved->bytes);
    const Real head[] = {block->mode, block->changed, (Real)n, (Real)moved, (Real)texts,
                         block->start, block->stop, block->tolerance, block->time};
    for (size_t k = 0; k < STATE_INTS + STATE_REALS; k++)
        *out++ = head[k];
    const int64_t *roles = INTS(data, ROLES);
    for (size_t k = 0; k < n; k++)
        /* outputs follow from the rest */
        *out++ = roles[k] == ROLE_AN_OUTPUT || !(kinds[k] & IS_REAL) ? 0.0 : machine->values[k];
    for (size_t k = 0; k < n; k++)
        *out++ = machine->is_set[k];
    for (size_t k = 0; k < 2 * inputs; k++)
        *out++ = machine->slopes[k];
    for (size_t k = 0; k < moved; k++)
        *out++ = state_of(machine)[k];
    char *into = (char *)out;
    for (size_t k = 0; k < n; text += (kinds[k++] & IS_STRING) != 0)
        if (is_setting(data, k)) {
            for (const char *from = machine->texts[text]; *from; from++)
                *into++ = *from;
            *into++ = 0;
        }
    *into = 0;
    *state = saved;
    return OK;
}

/* NULL, or what is wrong with the bytes of a state. */
static String misfit(Machine *machine, const char *bytes, size_t n)
{
    const Data *data = machine->data;
    static const char magic[17] = "liegeo-state-6\n";
    const char *identity = section(data, SECTION_IDENTITY, NULL);
    int right = n > STATE_HEAD + 8 * (STATE_INTS + STATE_REALS);
    for (size_t k = 0; right && k < 16; k++)
        right = bytes[k] == magic[k];
    if (!right)
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_NO_BEGINNING), 0.0}}, 1);
    for (size_t k = 0; k < 64; k++)
        if (bytes[16 + k] != identity[k])
            return text_of(data, SECTION_WORDS, TEXT_OTHER_FMU);
    Real head[STATE_INTS];
    for (size_t k = 0; k < sizeof head; k++)
        ((char *)head)[k] = bytes[STATE_HEAD + k];
    /* numbers that are none make the sum none either */
    Real numbers = STATE_INTS + STATE_REALS + 2.0 * head[2] + 2.0 * NUMBER(data, N_INPUTS) + head[3];
    if (head[2] != (Real)variables_of(data) || !(head[3] >= 0.0) || !(head[4] >= 1.0) ||
        (Real)n != STATE_HEAD + 8.0 * numbers + head[4] || bytes[n - 1])
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE), 0.0}}, 1);
    size_t settings = 0, texts = 0;
    for (size_t k = 0; k < variables_of(data); k++)
        settings += (size_t)is_setting(data, k);
    for (const char *c = bytes + (n - (size_t)head[4]); c < bytes + n; c++)
        texts += !*c;
    if (texts < settings + 1)
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE), 0.0}}, 1);
    /* what stands behind the settings are parameters of the model file that were set */
    const char *rest = bytes + (n - (size_t)head[4]);
    while (settings--)
        rest += length(rest) + 1;
    return *rest ? text_of(data, SECTION_WORDS, TEXT_FILE_PARAMETERS) : NULL;
}

static Status set_state(Instance *instance, State state)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    Saved *saved = state;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    const int64_t *roles = INTS(data, ROLES);
    const Real *from = state_numbers(saved->bytes);
    size_t n = variables_of(data), inputs = (size_t)NUMBER(data, N_INPUTS), moved = (size_t)from[3];
    const char *text = saved->bytes + (saved->n - (size_t)from[4]);
    /* by the same method it is the same record */
    int64_t before = machine->method;
    block->start = from[5], block->stop = from[6], block->tolerance = from[7], block->time = from[8];
    const Real *values = from + STATE_INTS + STATE_REALS, *set = values + n, *slopes = set + n;
    for (size_t k = 0, number = 0; k < n; number += (kinds[k++] & IS_STRING) != 0) {
        if (is_setting(data, k)) {
            char *copy = set[k] != 0.0 ? copied(text) : NULL;
            if (machine->is_set[k])
                drop((void *)(uintptr_t)machine->texts[number]);
            machine->texts[number] = copy ? copy : text_of(data, SECTION_STRINGS, number);
            machine->is_set[k] = copy != NULL;
            text += length(text) + 1;
        } else if (roles[k] != ROLE_AN_OUTPUT && (kinds[k] & IS_REAL)) {
            machine->values[k] = values[k];
            machine->is_set[k] = set[k] != 0.0;
        }
    }
    for (size_t k = 0; k < 2 * inputs; k++)
        machine->slopes[k] = slopes[k];
    machine->made = 0;
    if (moved) {
        String why = NULL;
        int64_t method = chosen_method(machine, &why);
        if (!why && method != before && !lay_out(machine, method))
            why = text_of(data, SECTION_WORDS, TEXT_NO_MEMORY);
        if (!why)
            why = set_up(machine, block);
        if (!why && (int64_t)moved != machine->R[R_N_STATE])
            why = text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE);
        if (why)
            return wrong(instance, ERROR, why);
        Real *X = state_of(machine), *y = X + (size_t)NUMBER(data, AT_Y);
        const Real *numbers = slopes + 2 * inputs;
        /* tolerances that the method has in its coefficients follow from the settings */
        fill(machine);
        over(machine, ENTRY_START, block->start == block->start ? block->start : NUMBER(data, START), 0.0);
        for (size_t k = 0; k < moved; k++)
            X[k] = numbers[k];
        plain(machine, ENTRY_RESTORED);
        for (size_t k = 0; k < (size_t)NUMBER(data, N_ELEMENT); k++)
            machine->start[k] = y[k];
        machine->made = 1;
    }
    block->mode = (int32_t)from[0], block->changed = (int32_t)from[1], block->fresh = 0;
    return OK;
}

static Status free_state(Instance *instance, State state)
{
    (void)instance;
    drop(state);
    return OK;
}

static Status state_size(Instance *instance, State state, size_t *n)
{
    (void)instance;
    *n = ((Saved *)state)->n;
    return OK;
}

static Status state_to_bytes(Instance *instance, State state, Byte *bytes, size_t n)
{
    (void)instance;
    for (size_t k = 0; k < n; k++)
        bytes[k] = ((Saved *)state)->bytes[k];
    return OK;
}

static Status state_from_bytes(Instance *instance, const Byte *bytes, size_t n, State *state)
{
    String why = misfit(instance->machine, bytes, n);
    Saved *saved = why ? NULL : grab(sizeof *saved + n);
    if (!saved)
        return wrong(instance, ERROR, why ? why : "there is no memory.");
    saved->n = n;
    for (size_t k = 0; k < n; k++)
        saved->bytes[k] = bytes[k];
    *state = saved;
    return OK;
}

const Inside inside = {
    .needs = "machine.bin",
    .has_needs = has_data,
    .open = open_machine,
    .close = close_machine,
    .gone = never,
    .enter = enter,
    .leave = leave,
    .terminate = terminate,
    .reset = reset,
    .set_real = set_real,
    .set_string = set_string,
    .get_string = get_string,
    .ask = ask,
    .do_step = do_step,
    .get_state = get_state,
    .set_state = set_state,
    .free_state = free_state,
    .state_size = state_size,
    .state_to_bytes = state_to_bytes,
    .state_from_bytes = state_from_bytes,
};
