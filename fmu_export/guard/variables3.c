/* FMI 3.0 for co-simulation: the functions that read and write variables, and their derivatives.
 *
 * A vector is a run of scalars (Instance.runs), and its value reference is that of the first of them.  The reference that
 * follows those of all scalars is that of the time.
 */
#include "faces.h"
#include "system.h"

#include <stdbool.h>

/* Memory for lists of scalars: two of references, one of numbers. */
typedef struct {
    Reference *first, *second;
    Real *numbers;
} Lists;

int make_room(Instance *instance, size_t n)
{
    if (n <= instance->room)
        return 1;
    void *more = grab(n * (sizeof(Real) + 2 * sizeof(Reference)));
    if (!more)
        return 0;
    drop(instance->scratch);
    instance->scratch = more, instance->room = n;
    return 1;
}

static Lists lists_of(const Instance *instance)
{
    Real *numbers = instance->scratch;
    Reference *first = (Reference *)(void *)(numbers + instance->room);
    return (Lists){first, first + instance->room, numbers};
}

/* How many numbers a variable has; 0 if there is none such. */
static size_t size_of(const Instance *instance, Reference r)
{
    const Block *block = &instance->block;
    return r == block->n ? 1 : r < block->n && instance->runs ? instance->runs[r] : 0;
}

/* How many scalars these are, which `given` has to be; room for them is made.  `of` names what has the values. */
static Status counted(Instance *instance, String name, const Reference *references, size_t n, size_t given, String of)
{
    size_t total = 0;
    for (size_t k = 0; k < n; k++) {
        size_t size = size_of(instance, references[k]);
        if (!size)
            return refuse(instance, ERROR, name, NO_SUCH, "variable", references[k], 0.0, 0.0);
        total += size;
    }
    if (total != given)
        return refuse(instance, ERROR, name, WRONG_SIZE, of, 0, (Real)given, (Real)total);
    /* made with the instance, unless a host names variables twice */
    return make_room(instance, total) ? OK : ERROR;
}

static void expand(const Instance *instance, const Reference *references, size_t n, Reference *into)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < size_of(instance, references[k]); i++)
            *into++ = references[k] + (Reference)i;
}

static Real now(const Block *block)
{
    if (block->mode != INITIALISING)
        return block->time;
    return block->start == block->start ? block->start : 0.0;
}

EXPORT Status fmi3GetFloat64(Component c, const Reference valueReferences[], size_t nValueReferences, Real values[],
                             size_t nValues)
{
    BEGIN("fmi3GetFloat64", READING | BETWEEN);
    if (nValueReferences) {
        NOT_NULL(valueReferences);
        NOT_NULL(values);
    }
    unsigned kinds = 0;
    size_t total = 0;
    for (size_t k = 0; k < nValueReferences; k++) {
        Reference r = valueReferences[k];
        size_t size = size_of(instance, r);
        unsigned its = r < block->n ? block->kinds[r] : IS_REAL;
        if (!size || !(its & IS_REAL))
            return refuse(instance, ERROR, name, NO_SUCH, "Float64", r, 0.0, 0.0);
        if (block->mode == BETWEEN && r < block->n && !(its & IS_OUTPUT))
            return refuse(instance, ERROR, name, NO_SUCH, "intermediate variable", r, 0.0, 0.0);
        total += size;
        for (size_t i = 0; i < size && r < block->n; i++)
            kinds |= block->kinds[r + i];
    }
    if (total != nValues)
        return refuse(instance, ERROR, name, WRONG_SIZE, "values", 0, (Real)nValues, (Real)total);
    Status status = make_fresh(instance, name, kinds);
    if (status >= ERROR)
        return status;
    for (size_t k = 0; k < nValueReferences; k++) {
        Reference r = valueReferences[k];
        for (size_t i = 0; i < size_of(instance, r); i++)
            *values++ = r == block->n ? now(block) : block->values[r + i];
    }
    return status;
}

EXPORT Status fmi3SetFloat64(Component c, const Reference valueReferences[], size_t nValueReferences,
                             const Real values[], size_t nValues)
{
    BEGIN("fmi3SetFloat64", WRITING);
    if (!nValueReferences && !nValues)
        return OK;
    NOT_NULL(valueReferences);
    NOT_NULL(values);
    for (size_t k = 0; k < nValueReferences; k++) {
        Reference r = valueReferences[k];
        if (r == block->n)
            return refuse(instance, ERROR, name, CANNOT_BE_SET, NULL, r, 0.0, 0.0);
        if (!size_of(instance, r) || !(block->kinds[r] & IS_REAL))
            return refuse(instance, ERROR, name, NO_SUCH, "Float64", r, 0.0, 0.0);
    }
    Status status = counted(instance, name, valueReferences, nValueReferences, nValues, "values");
    if (status)
        return status;
    Reference *scalars = lists_of(instance).first;
    expand(instance, valueReferences, nValueReferences, scalars);
    return set_reals(instance, name, "Float64", scalars, nValues, values);
}

EXPORT Status fmi3GetString(Component c, const Reference valueReferences[], size_t nValueReferences, String values[],
                            size_t nValues)
{
    BEGIN("fmi3GetString", READING);
    if (!nValueReferences && !nValues)
        return OK;
    NOT_NULL(valueReferences);
    NOT_NULL(values);
    if (nValues != nValueReferences)
        return refuse(instance, ERROR, name, WRONG_SIZE, "values", 0, (Real)nValues, (Real)nValueReferences);
    return get_strings(instance, name, valueReferences, nValueReferences, values);
}

EXPORT Status fmi3SetString(Component c, const Reference valueReferences[], size_t nValueReferences,
                            const String values[], size_t nValues)
{
    BEGIN("fmi3SetString", WRITING);
    if (!nValueReferences && !nValues)
        return OK;
    NOT_NULL(valueReferences);
    NOT_NULL(values);
    if (nValues != nValueReferences)
        return refuse(instance, ERROR, name, WRONG_SIZE, "values", 0, (Real)nValues, (Real)nValueReferences);
    return set_strings(instance, name, valueReferences, nValueReferences, values);
}

/* ---- types of which there are no variables */

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NONE_OF(type, ctype)                                                                                           \
    EXPORT Status fmi3Get##type(Component c, const Reference valueReferences[], size_t nValueReferences,               \
                                ctype values[], size_t nValues)                                                        \
    {                                                                                                                  \
        BEGIN("fmi3Get" #type, READING);                                                                               \
        return none(instance, name, #type, valueReferences, nValueReferences);                                         \
    }                                                                                                                  \
    EXPORT Status fmi3Set##type(Component c, const Reference valueReferences[], size_t nValueReferences,               \
                                const ctype values[], size_t nValues)                                                  \
    {                                                                                                                  \
        BEGIN("fmi3Set" #type, WRITING);                                                                               \
        return none(instance, name, #type, valueReferences, nValueReferences);                                         \
    }

NONE_OF(Float32, float)
NONE_OF(Int8, int8_t)
NONE_OF(UInt8, uint8_t)
NONE_OF(Int16, int16_t)
NONE_OF(UInt16, uint16_t)
NONE_OF(Int32, int32_t)
NONE_OF(UInt32, uint32_t)
NONE_OF(Int64, int64_t)
NONE_OF(UInt64, uint64_t)
NONE_OF(Boolean, bool)

EXPORT Status fmi3GetBinary(Component c, const Reference valueReferences[], size_t nValueReferences,
                            size_t valueSizes[], const uint8_t *values[], size_t nValues)
{
    BEGIN("fmi3GetBinary", READING);
    return none(instance, name, "Binary", valueReferences, nValueReferences);
}

EXPORT Status fmi3SetBinary(Component c, const Reference valueReferences[], size_t nValueReferences,
                            const size_t valueSizes[], const uint8_t *const values[], size_t nValues)
{
    BEGIN("fmi3SetBinary", WRITING);
    return none(instance, name, "Binary", valueReferences, nValueReferences);
}

/* ---- derivatives */

/* The scalars of unknowns and knowns, checked, as the two lists of the instance. */
static Status differentiated(Instance *instance, String name, const Reference *unknowns, size_t n_unknowns,
                             const Reference *knowns, size_t n_knowns, size_t scalar_unknowns, size_t scalar_knowns,
                             String of_unknowns, String of_knowns)
{
    Status status = counted(instance, name, unknowns, n_unknowns, scalar_unknowns, of_unknowns);
    if (!status)
        status = counted(instance, name, knowns, n_knowns, scalar_knowns, of_knowns);
    if (status)
        return status;
    Lists lists = lists_of(instance);
    expand(instance, unknowns, n_unknowns, lists.first);
    expand(instance, knowns, n_knowns, lists.second);
    return check_unknowns(instance, name, lists.first, scalar_unknowns, lists.second, scalar_knowns);
}

#define NEEDS_LISTS                                                                                                    \
    if (nUnknowns)                                                                                                     \
        NOT_NULL(unknowns);                                                                                            \
    if (nKnowns)                                                                                                       \
        NOT_NULL(knowns);                                                                                              \
    if (nSeed)                                                                                                         \
        NOT_NULL(seed);                                                                                                \
    if (nSensitivity)                                                                                                  \
    NOT_NULL(sensitivity)

EXPORT Status fmi3GetDirectionalDerivative(Component c, const Reference unknowns[], size_t nUnknowns,
                                           const Reference knowns[], size_t nKnowns, const Real seed[], size_t nSeed,
                                           Real sensitivity[], size_t nSensitivity)
{
    BEGIN("fmi3GetDirectionalDerivative", READING);
    NEEDS_LISTS;
    Status status = differentiated(instance, name, unknowns, nUnknowns, knowns, nKnowns, nSensitivity, nSeed,
                                   "sensitivity", "seed");
    if (status)
        return status;
    Lists lists = lists_of(instance);
    return along(instance, name, lists.first, nSensitivity, lists.second, nSeed, seed, sensitivity);
}

/* seedᵀ J, a column of J at a time: the sensitivity to a known is the product of the seed with the derivatives along
 * that known alone. */
EXPORT Status fmi3GetAdjointDerivative(Component c, const Reference unknowns[], size_t nUnknowns,
                                       const Reference knowns[], size_t nKnowns, const Real seed[], size_t nSeed,
                                       Real sensitivity[], size_t nSensitivity)
{
    BEGIN("fmi3GetAdjointDerivative", READING);
    NEEDS_LISTS;
    Status status = differentiated(instance, name, unknowns, nUnknowns, knowns, nKnowns, nSeed, nSensitivity, "seed",
                                   "sensitivity");
    Lists lists = lists_of(instance);
    for (size_t k = 0; !status && k < nSeed; k++)
        if (!finite(seed[k]))
            return refuse(instance, ERROR, name, NOT_FINITE, NULL, lists.first[k], seed[k], 0.0);
    const Real one = 1.0;
    for (size_t k = 0; !status && k < nSensitivity; k++) {
        status = along(instance, name, lists.first, nSeed, lists.second + k, 1, &one, lists.numbers);
        Real sum = 0.0;
        for (size_t i = 0; !status && i < nSeed; i++)
            sum += seed[i] * lists.numbers[i];
        sensitivity[k] = sum;
    }
    return status;
}

EXPORT Status fmi3GetOutputDerivatives(Component c, const Reference valueReferences[], size_t nValueReferences,
                                       const int32_t orders[], Real values[], size_t nValues)
{
    BEGIN("fmi3GetOutputDerivatives", RATES);
    if (!nValueReferences && !nValues)
        return OK;
    NOT_NULL(valueReferences);
    NOT_NULL(orders);
    NOT_NULL(values);
    size_t k = stranger(block, valueReferences, nValueReferences, IS_OUTPUT);
    if (k < nValueReferences)
        return refuse(instance, ERROR, name, NO_SUCH, "output", valueReferences[k], 0.0, 0.0);
    for (k = 0; k < nValueReferences; k++)
        if (orders[k] != 1)
            return refuse(instance, ERROR, name, NO_ORDER, "1", valueReferences[k], orders[k], 0.0);
    Status status = counted(instance, name, valueReferences, nValueReferences, nValues, "values");
    if (status)
        return status;
    Reference *scalars = lists_of(instance).first;
    expand(instance, valueReferences, nValueReferences, scalars);
    return output_rates(instance, name, scalars, nValues, values);
}
