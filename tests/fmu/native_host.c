/* A host of native FMUs, for Linux on any processor and for Windows: prints the bits of two variables after each step.
 *
 *     native_host LIBRARY RESOURCES GUID STEPS SIZE INPUT OUTPUT
 *
 * INPUT is set to (k % 7)/70, if it is not negative; OUTPUT is read after every step, and printed as a hexadecimal number.
 * With SHOW_MEMORY in the environment the most memory that it had, in kB, goes to standard error (on Linux).
 * In the middle the state is saved, as bytes, and put back after three more steps, which are then made again.
 */
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
__declspec(dllimport) void *LoadLibraryA(const char *);
__declspec(dllimport) void *GetProcAddress(void *, const char *);
#define OPEN(file) LoadLibraryA(file)
#define FIND(library, name) GetProcAddress(library, name)
#else
#include <dlfcn.h>
#define OPEN(file) dlopen(file, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif

typedef void *Any;
static void logger(Any e, const char *name, int status, const char *category, const char *message, ...)
{
    (void)e, (void)name, (void)category;
    if (status)
        fprintf(stderr, "%d: %s\n", status, message);
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return 1;
    Any library = OPEN(argv[1]);
    if (!library)
        return 2;
    struct {
        void (*log)(Any, const char *, int, const char *, const char *, ...);
        Any (*allocate)(size_t, size_t);
        void (*release)(Any);
        Any finished, environment;
    } callbacks = {logger, calloc, free, NULL, NULL};
#define GET(type, name, ...) type (*name)(__VA_ARGS__) = (type (*)(__VA_ARGS__))FIND(library, #name)
    GET(Any, fmi2Instantiate, const char *, int, const char *, const char *, const Any, int, int);
    GET(int, fmi2SetupExperiment, Any, int, double, double, int, double);
    GET(int, fmi2EnterInitializationMode, Any);
    GET(int, fmi2ExitInitializationMode, Any);
    GET(int, fmi2SetReal, Any, const unsigned *, size_t, const double *);
    GET(int, fmi2GetReal, Any, const unsigned *, size_t, double *);
    GET(int, fmi2DoStep, Any, double, double, int);
    GET(int, fmi2GetFMUstate, Any, Any *);
    GET(int, fmi2SetFMUstate, Any, Any);
    GET(int, fmi2FreeFMUstate, Any, Any *);
    GET(int, fmi2SerializedFMUstateSize, Any, Any, size_t *);
    GET(int, fmi2SerializeFMUstate, Any, Any, char *, size_t);
    GET(int, fmi2DeSerializeFMUstate, Any, const char *, size_t, Any *);
    GET(int, fmi2Terminate, Any);
    GET(void, fmi2FreeInstance, Any);
    int steps = atoi(argv[4]), again = steps / 2, saved = 0;
    double size = atof(argv[5]);
    int wanted = atoi(argv[6]);
    unsigned input = (unsigned)wanted, output = (unsigned)atoi(argv[7]);
    Any c = fmi2Instantiate("one", 1, argv[3], argv[2], (Any)&callbacks, 0, 0), state = NULL;
    if (!c || fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0) || fmi2EnterInitializationMode(c) ||
        fmi2ExitInitializationMode(c))
        return 3;
    char *bytes = NULL;
    size_t n = 0;
    for (int k = 0; k < steps; k++) {
        double x = (k % 7) / 70.0, y = 0.0;
        if (k == again && !saved) {
            saved = 1;
            if (fmi2GetFMUstate(c, &state) || fmi2SerializedFMUstateSize(c, state, &n) || !(bytes = malloc(n)) ||
                fmi2SerializeFMUstate(c, state, bytes, n) || fmi2FreeFMUstate(c, &state))
                return 4;
        }
        if ((wanted >= 0 && fmi2SetReal(c, &input, 1, &x)) || fmi2DoStep(c, k * size, size, 0) || fmi2GetReal(c, &output, 1, &y))
            return 5;
        if (k == again + 3 && saved == 1) {
            saved = 2, k = again - 1;
            if (fmi2DeSerializeFMUstate(c, bytes, n, &state) || fmi2SetFMUstate(c, state) || fmi2FreeFMUstate(c, &state))
                return 6;
            continue;
        }
        if (saved != 1)
            printf("%a\n", y);
    }
    free(bytes);
    fmi2Terminate(c);
    fmi2FreeInstance(c);
    FILE *status = getenv("SHOW_MEMORY") ? fopen("/proc/self/status", "r") : NULL;
    char line[128];
    long most;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &most) == 1)
            fprintf(stderr, "%ld\n", most);
    if (status)
        fclose(status);
    return 0;
}
