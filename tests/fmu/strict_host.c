/* A host of native FMUs on Linux in which steps can neither take memory nor call the system.
 *
 *     strict_host LIBRARY RESOURCES GUID METHOD STEPS SIZE INPUT OUTPUT METHOD_REFERENCE
 *
 * The instance is initialised with a method; then the kernel is told to kill this process at any call but read, write and
 * exit, and functions of memory end it.  Steps are taken, with INPUT set (if it is not negative) and OUTPUT read, and the
 * bits of the outputs are written.
 */
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *Any;

static int strict;

static void die(const char *why)
{
    if (write(2, why, strlen(why)) < 0)
        strict = 2;
    syscall(SYS_exit, 9);
}

/* glibc's own, behind those that everybody in the process calls */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
#define GUARDED(name, type, parameters, arguments)                                                                     \
    type name parameters                                                                                               \
    {                                                                                                                  \
        if (strict)                                                                                                    \
            die(#name " was called in a step\n");                                                                      \
        return __libc_##name arguments;                                                                                \
    }
GUARDED(malloc, void *, (size_t n), (n))
GUARDED(calloc, void *, (size_t n, size_t m), (n, m))
GUARDED(realloc, void *, (void *p, size_t n), (p, n))
GUARDED(free, void, (void *p), (p))

static void logger(Any e, const char *name, int status, const char *category, const char *message, ...)
{
    (void)e, (void)name, (void)status, (void)category;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    if (argc < 10)
        return 1;
    Any library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        return 2;
    struct {
        void (*log)(Any, const char *, int, const char *, const char *, ...);
        Any (*allocate)(size_t, size_t);
        void (*release)(void *);
        Any finished, environment;
    } callbacks = {logger, calloc, free, NULL, NULL};
#define GET(type, name, ...) type (*name)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(library, #name)
    GET(Any, fmi2Instantiate, const char *, int, const char *, const char *, const Any, int, int);
    GET(int, fmi2SetupExperiment, Any, int, double, double, int, double);
    GET(int, fmi2EnterInitializationMode, Any);
    GET(int, fmi2ExitInitializationMode, Any);
    GET(int, fmi2SetReal, Any, const unsigned *, size_t, const double *);
    GET(int, fmi2GetReal, Any, const unsigned *, size_t, double *);
    GET(int, fmi2SetString, Any, const unsigned *, size_t, const char *const *);
    GET(int, fmi2DoStep, Any, double, double, int);
    int steps = atoi(argv[5]), wanted = atoi(argv[7]);
    double size = atof(argv[6]);
    unsigned input = (unsigned)wanted, output = (unsigned)atoi(argv[8]), method = (unsigned)atoi(argv[9]);
    /* compilers leave out memory that nobody uses */
    void *(*volatile take)(size_t) = malloc;
    double *found = calloc((size_t)steps, sizeof *found);
    Any c = fmi2Instantiate("one", 1, argv[3], argv[2], &callbacks, 0, 0);
    if (!c || !found || fmi2SetString(c, &method, 1, (const char *const *)&argv[4]) ||
        fmi2SetupExperiment(c, 0, 0.0, 0.0, 0, 0.0) || fmi2EnterInitializationMode(c) || fmi2ExitInitializationMode(c))
        return 3;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return 4;
    strict = 1;
    for (int k = 0; k < steps; k++) {
        double x = (k % 7) / 70.0;
        if (wanted >= 0 && fmi2SetReal(c, &input, 1, &x))
            die("fmi2SetReal\n");
        if (fmi2DoStep(c, k * size, size, 0) || fmi2GetReal(c, &output, 1, found + k))
            die("fmi2DoStep\n");
    }
    if (getenv("TAKE_MEMORY"))
        free(take(1));
    if (getenv("CALL_THE_SYSTEM"))
        syscall(SYS_getpid);
    if (write(1, found, (size_t)steps * sizeof *found) < 0)
        die("write\n");
    syscall(SYS_exit, 0);
}
