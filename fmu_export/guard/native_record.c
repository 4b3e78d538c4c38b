/* The record of a native FMU's machine (liegeo/machine/record.py): laid out as the data file says, and moved by kernels. */
#include "native.h"

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

int64_t plain(Machine *machine, int entry)
{
    CALLS;
    return RUN(machine, entry, , );
}

int64_t at_time(Machine *machine, int entry, Real t)
{
    CALLS;
    return RUN(machine, entry, COMMA double, COMMA t);
}

int64_t over(Machine *machine, int entry, Real t, Real size)
{
    CALLS;
    return RUN(machine, entry, COMMA double COMMA double, COMMA t COMMA size);
}

int64_t with_number(Machine *machine, int entry, int64_t number)
{
    CALLS;
    return RUN(machine, entry, COMMA int64_t, COMMA number);
}

void explain(Machine *machine, int64_t why, Real size)
{
    CALLS;
    (void)RUN(machine, ENTRY_EXPLAIN, COMMA int64_t COMMA double, COMMA why COMMA size);
}

int64_t with_array(Machine *machine, int entry, const Real *array, size_t n)
{
    CALLS;
    return RUN(machine, entry, COMMA ARRAY, COMMA THE(array, n));
}

Real *reals(const Machine *machine, int place)
{
    return (Real *)(uintptr_t)machine->R[place];
}

Real *state_of(const Machine *machine)
{
    return reals(machine, R_X);
}

Real *control_of(const Machine *machine)
{
    return state_of(machine) + (size_t)NUMBER(machine->data, AT_CONTROL);
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

void use_model(Machine *machine, const Real *numbers)
{
    static const int places[] = {R_S, R_S_KEPT, R_S_FREE};
    for (int k = 0; k < 3; k++)
        if (machine->R[places[k] + 1])
            ((int64_t *)(intptr_t)machine->R[places[k]])[DRIVE_S_F] = address(numbers);
}

/* All arrays for a method; whether there was memory. */
int lay_out(Machine *machine, int64_t method)
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
    drop(machine->own);
    machine->own = NULL;
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
