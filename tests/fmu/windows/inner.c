/* In place of pythonfmu's library, for the guard on Windows: an FMU that integrates its input, without Python. */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __declspec(dllexport)
typedef struct {
    uint64_t magic, size;
    int32_t status, mode, fresh, asked, changed;
    double time, start, stop, tolerance;
    const char *guid, *message, *why, *details;
    uint64_t n;
    double *values;
    const uint16_t *kinds;
    const char *const *names;
} Block;

int _fltused = 0;
static Block *block;
static double values[2], integral, kept[3];
static const uint16_t kinds[2] = {1 | 4, 1 | 32 | 128};
static const char *const names[2] = {"input", "integral"};

int DllMainCRTStartup(void *self, uint32_t why, void *reserved)
{
    (void)self, (void)why, (void)reserved;
    return 1;
}

EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *path, const void *callbacks)
{
    /* the path of file:///C:/some%20folder */
    (void)name, (void)type, (void)guid, (void)callbacks;
    return path[0] == 'C' && path[1] == ':' && path[7] == ' ' ? &integral : NULL;
}

EXPORT int fmi2SetInteger(void *c, const uint32_t *references, size_t n, const int32_t *halves)
{
    (void)c, (void)references, (void)n;
    block = (Block *)(uintptr_t)((uint64_t)(uint32_t)halves[1] << 32 | (uint32_t)halves[0]);
    block->n = 2, block->values = values, block->kinds = kinds, block->names = names;
    block->guid = "", block->status = 0;
    return 0;
}

EXPORT int fmi2GetInteger(void *c, const uint32_t *references, size_t n, int32_t *out)
{
    (void)c, (void)n, (void)out;
    if (references[0] == 0x7e000001u)
        values[1] = integral, block->fresh = 1;
    return 0;
}

EXPORT int fmi2DoStep(void *c, double t, double size, int more)
{
    (void)c, (void)more;
    integral += values[0] * size;
    block->time = t + size, block->fresh = 0;
    return 0;
}

EXPORT int fmi2ExitInitializationMode(void *c)
{
    (void)c;
    block->time = block->start;
    return 0;
}

EXPORT int fmi2GetFMUstate(void *c, void **state)
{
    (void)c;
    kept[0] = integral, kept[1] = block->time, kept[2] = block->mode;
    *state = kept;
    return 0;
}

EXPORT int fmi2SetFMUstate(void *c, void *state)
{
    (void)c, (void)state;
    integral = kept[0], block->time = kept[1], block->mode = (int32_t)kept[2], block->fresh = 0;
    return 0;
}

#define NOTHING(name)                                                                                                  \
    EXPORT int name(void *c)                                                                                           \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        return 0;                                                                                                      \
    }
NOTHING(fmi2FreeInstance)
NOTHING(fmi2EnterInitializationMode)
NOTHING(fmi2Terminate)
NOTHING(fmi2Reset)
NOTHING(fmi2SetReal)
NOTHING(fmi2SetString)
NOTHING(fmi2GetString)
NOTHING(fmi2FreeFMUstate)
NOTHING(fmi2SerializedFMUstateSize)
NOTHING(fmi2SerializeFMUstate)
NOTHING(fmi2DeSerializeFMUstate)
