/* The library of an FMU: FMI 2.0 for co-simulation, in front of pythonfmu's library, which lies beside it.
 *
 * What hosts call is here.  The standard's rules that need no model are kept here too: which call is allowed in which
 * mode, which variable may be read or written, which numbers make sense.  What passes goes on to pythonfmu's library
 * and to the slave in Python (fmu_export/slave.py).  The two share a block of memory, `Block`: the slave answers with a
 * status in it, finds arguments there that pythonfmu has no way for, and keeps the values of variables in an array that
 * is read and written here without a call of Python.
 *
 * Two private channels lead to the slave, because FMUs have no variables of type Integer: fmi2SetInteger hands it the
 * address of the block, fmi2GetInteger asks it for something (`ask`).  It words all messages about refused calls.
 *
 * On Windows there is no C library here, only kernel32: FMUs then need no run-time library, and building one quickly.
 */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#define EXPORT __attribute__((visibility("default")))
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the types of the standard (fmi2TypesPlatform.h, fmi2FunctionTypes.h) */

typedef void *Component;
typedef void *State;
typedef unsigned int Reference;
typedef double Real;
typedef int Integer;
typedef int Boolean;
typedef char Byte;
typedef const char *String;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING } Status;
typedef enum { MODEL_EXCHANGE, CO_SIMULATION } Type;
typedef enum { DO_STEP_STATUS, PENDING_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED_STATUS } StatusKind;
typedef void Logger(void *environment, String name, Status status, String category, String message, ...);
typedef struct {
    Logger *logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, Status);
    void *environment;
} Callbacks;

/* ---- what the slave shares; fmu_export/block.py has the same */

enum { NEW = 1, INITIALISING = 2, STEPPING = 4, FAILED = 8, TERMINATED = 16, BROKEN = 32, DEAD = 64 };
enum { IS_REAL = 1, IS_STRING = 2, IS_INPUT = 4, IS_PARAMETER = 8, IS_TUNABLE = 16, IS_DIRECT = 32, IS_COMPUTED = 64,
       IS_OUTPUT = 128 };
enum { REFUSE, REFRESH, COMPLETE, DIRECTIONAL, OUTPUT_RATES, INPUT_RATES, HEARD };
enum { NOT_NOW = 1, IS_NULL, NO_SUCH, CANNOT_BE_SET, IS_FIXED, NOT_FINITE, TIMES, STEP_SIZE, STEP_START, STEP_NOTHING,
       STEP_STOP, NO_STATUS, NO_STATE, TOO_SMALL, NO_ORDER, NOT_KNOWN, NOT_UNKNOWN, NO_CATEGORY, NOT_OFFERED,
       NOT_TEXT };

#define MAGIC 0x6c69656765690001u

typedef struct {
    uint64_t magic, size;
    int32_t status; /* of the call that is being answered */
    int32_t mode;
    int32_t fresh;   /* how far `values` of outputs are up to date: not, what is read off (1), what is computed (2) */
    int32_t asked;   /* the most of that that was asked for since the last step */
    int32_t changed; /* whether inputs were written since the slave looked */
    int32_t reason;  /* of a refusal, with what follows */
    uint64_t reference;
    String function, what;
    Real x, y;
    Real time, start, stop, tolerance; /* `time` is that of the last success; the last two are NaN if not given */
    String guid;
    uint64_t n; /* variables; value references are 0 … n − 1 */
    Real *values;
    const uint8_t *kinds;
    const Reference *references, *known; /* arguments of what is asked */
    uint64_t n_references, n_known;
    const Integer *orders;
    const Real *given;
    Real *out;
} Block;

/* The private references; those of variables are small. */
#define CHANNEL 0x7e000000u

typedef struct Kept {
    State inside;
    struct Kept *next;
} Kept;

typedef struct Instance {
    Block block;
    Component inside;
    Callbacks host, ours;
    char *name, *guid;
    Boolean logging;
    unsigned categories; /* bits of those that the host wants; 0: all */
    Kept *states;
    struct Instance *next, *before;
} Instance;

/* ---- what the system offers */

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

#ifdef _WIN32
/* what is used of kernel32; windows.h comes only with a C library */
#define SYSTEM __declspec(dllimport)
SYSTEM void *GetProcessHeap(void);
SYSTEM void *HeapAlloc(void *heap, uint32_t flags, size_t n);
SYSTEM int HeapFree(void *heap, uint32_t flags, void *memory);
SYSTEM uint32_t GetEnvironmentVariableW(const wchar_t *name, wchar_t *into, uint32_t n);
SYSTEM void *LoadLibraryW(const wchar_t *file);
SYSTEM void *LoadLibraryExW(const wchar_t *file, void *reserved, uint32_t flags);
SYSTEM int GetModuleHandleExW(uint32_t flags, const wchar_t *address, void **module);
SYSTEM uint32_t GetModuleFileNameW(void *module, wchar_t *into, uint32_t n);
SYSTEM void *GetProcAddress(void *module, const char *name);
SYSTEM int MultiByteToWideChar(uint32_t page, uint32_t flags, const char *from, int n, wchar_t *into, int most);
SYSTEM void *CreateFileW(const wchar_t *file, uint32_t access, uint32_t share, void *security, uint32_t how,
                         uint32_t flags, void *model);
SYSTEM int ReadFile(void *file, void *into, uint32_t n, uint32_t *got, void *overlapped);
SYSTEM int CloseHandle(void *handle);
enum { UTF8 = 65001, SHARED = 7, EXISTING = 3 };
#define GENERIC_READ 0x80000000u
enum { ZEROED = 8, WITH_ITS_FOLDER = 8, OF_ADDRESS = 4, NOT_COUNTED = 2, LONGEST = 2048 };

/* the compiler calls them */
void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ((volatile char *)to)[k] = ((const char *)from)[k];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ((volatile char *)to)[k] = (char)value;
    return to;
}

int _fltused = 0;

int DllMainCRTStartup(void *self, uint32_t why, void *reserved)
{
    (void)self, (void)why, (void)reserved;
    return 1;
}

static void *grab(size_t n)
{
    return HeapAlloc(GetProcessHeap(), ZEROED, n);
}

static void drop(void *memory)
{
    if (memory)
        HeapFree(GetProcessHeap(), 0, memory);
}

/* The first bytes of a file, fewer than n; how many, 0 if there is no such file. */
static size_t beginning(const char *file, char *into, size_t n)
{
    uint32_t got = 0;
    wchar_t *wide = grab(LONGEST * sizeof *wide);
    void *none = (void *)(intptr_t)-1, *opened = none;
    if (wide && MultiByteToWideChar(UTF8, 0, file, -1, wide, LONGEST))
        opened = CreateFileW(wide, GENERIC_READ, SHARED, NULL, EXISTING, 0, NULL);
    drop(wide);
    if (opened == none)
        return 0;
    if (!ReadFile(opened, into, (uint32_t)n - 1, &got, NULL))
        got = 0;
    CloseHandle(opened);
    into[got] = 0;
    return got;
}
#else
static void *grab(size_t n)
{
    return calloc(1, n);
}

static void drop(void *memory)
{
    free(memory);
}

/* The first bytes of a file, fewer than n; how many, 0 if there is no such file. */
static size_t beginning(const char *file, char *into, size_t n)
{
    FILE *opened = fopen(file, "rb");
    if (!opened)
        return 0;
    size_t got = fread(into, 1, n - 1, opened);
    fclose(opened);
    into[got] = 0;
    return got;
}
#endif

static char *copied(const char *text)
{
    size_t n = length(text) + 1;
    char *copy = grab(n);
    for (size_t k = 0; copy && k < n; k++)
        copy[k] = text[k];
    return copy;
}

/* Three texts in a row, or NULL. */
static char *joined(const char *a, const char *b, const char *c)
{
    char *all = grab(length(a) + length(b) + length(c) + 1), *into = all;
    const char *const parts[] = {a, b, c};
    for (int k = 0; all && k < 3; k++)
        for (const char *from = parts[k]; *from; from++)
            *into++ = *from;
    return all;
}

/* Whether it is UTF-8 as Python reads it: pythonfmu's library does not survive what Python refuses. */
static int is_text(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int more = *c < 0x80 ? 0 : *c >= 0xc2 && *c < 0xe0 ? 1 : (*c & 0xf0) == 0xe0 ? 2 : *c >= 0xf0 && *c < 0xf5 ? 3 : -1;
        /* too long for what they are, halves of pairs, beyond the last character */
        if (more < 0 || (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
            (*c == 0xf4 && c[1] > 0x8f))
            return 0;
        for (c++; more > 0; more--, c++)
            if ((*c & 0xc0) != 0x80)
                return 0;
    }
    return 1;
}

static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set(&busy))
        ;
}

static void unlock(void)
{
    atomic_flag_clear(&busy);
}

/* ---- messages */

static const char *const CATEGORIES[] = {"logAll", "logStatusWarning", "logStatusDiscard", "logStatusError"};

static unsigned bit_of(String category)
{
    for (unsigned k = 0; k < 4; k++)
        if (same(category, CATEGORIES[k]))
            return 1u << k;
    return 0;
}

/* To the host: what is worth a warning always, the rest if logging is on; of all the categories that were chosen. */
static void say(Instance *instance, Status status, String category, String text)
{
    if (!instance->host.logger || (status == OK && !instance->logging))
        return;
    if (!category || !*category)
        category = CATEGORIES[status > ERROR ? ERROR : status];
    unsigned bit = bit_of(category);
    if (instance->categories && bit && !(instance->categories & bit))
        return;
    size_t signs = 0;
    for (const char *c = text; *c; c++)
        signs += *c == '%';
    char *format = signs ? grab(length(text) + signs + 1) : NULL;
    if (format) {
        /* hosts may take it for a format of printf, which is what the standard calls it */
        char *into = format;
        for (const char *c = text; *c; c++) {
            *into++ = *c;
            if (*c == '%')
                *into++ = '%';
        }
    }
    instance->host.logger(instance->host.environment, instance->name, status, category, format ? format : text);
    drop(format);
}

static void heard(void *environment, String name, Status status, String category, String message, ...)
{
    (void)name;
    say(environment, status, category, message ? message : "");
}

/* ---- pythonfmu's library */

static struct {
    void *library;
    Component (*instantiate)(String, Type, String, String, const Callbacks *, Boolean, Boolean);
    void (*free_instance)(Component);
    Status (*enter)(Component), (*leave)(Component), (*terminate)(Component), (*reset)(Component);
    Status (*set_real)(Component, const Reference *, size_t, const Real *);
    Status (*set_integer)(Component, const Reference *, size_t, const Integer *);
    Status (*get_integer)(Component, const Reference *, size_t, Integer *);
    Status (*set_string)(Component, const Reference *, size_t, const String *);
    Status (*get_string)(Component, const Reference *, size_t, String *);
    Status (*do_step)(Component, Real, Real, Boolean);
    Status (*get_state)(Component, State *), (*set_state)(Component, State), (*free_state)(Component, State *);
    Status (*state_size)(Component, State, size_t *);
    Status (*state_to_bytes)(Component, State, Byte *, size_t);
    Status (*state_from_bytes)(Component, const Byte *, size_t, State *);
    void (*let_python_go)(void);
    int (*python_runs)(void);
} inner;

static Instance *instances;

#ifdef _WIN32
static void *symbol(const char *name)
{
    return GetProcAddress(inner.library, name);
}

static String load_python(void)
{
    static wchar_t file[LONGEST];
    /* a host that is no Python may name the library to load before */
    if (GetEnvironmentVariableW(L"LIEGEO_LIBPYTHON", file, LONGEST))
        LoadLibraryW(file);
    return NULL;
}

static String load_library(void)
{
    static wchar_t file[LONGEST];
    static const wchar_t name[] = L"pythonfmu-export.dll";
    void *self;
    GetModuleHandleExW(OF_ADDRESS | NOT_COUNTED, (const wchar_t *)(void *)&instances, &self);
    size_t n = GetModuleFileNameW(self, file, LONGEST);
    while (n && file[n - 1] != L'\\' && file[n - 1] != L'/')
        n--;
    if (n + sizeof name / sizeof *name > LONGEST)
        return "The path of the FMU is too long.";
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        file[n + k] = name[k];
    inner.library = LoadLibraryExW(file, NULL, WITH_ITS_FOLDER);
    return inner.library ? NULL
                         : "pythonfmu-export.dll, which lies beside the FMU's library, cannot be loaded: is there a "
                           "python3.dll? A host that is no Python finds it on PATH or by LIEGEO_LIBPYTHON=FILE.";
}
#else
/* Our own path. */
static char self[PATH_MAX];

/* Hosts may change their folder after they have loaded us by a relative path. */
__attribute__((constructor)) static void note_path(void)
{
    Dl_info info;
    if (!dladdr((void *)&instances, &info) || !info.dli_fname || !realpath(info.dli_fname, self))
        self[0] = 0;
}

static void *symbol(const char *name)
{
    return dlsym(inner.library, name);
}

/* Where a Python on the path keeps its library; what it prints is tried line by line. */
static const char QUESTION[] =
    "python3 -c 'import sys, sysconfig\n"
    "name = sysconfig.get_config_var(\"INSTSONAME\") or \"\"\n"
    "if \".so\" in name:\n"
    "    for place in (sysconfig.get_config_var(\"LIBDIR\"), sys.base_prefix + \"/lib\"):\n"
    "        print(f\"{place}/{name}\")\n"
    "    print(name)' 2>/dev/null";

static int opened(const char *file, int mode)
{
    return *file && dlopen(file, RTLD_NOW | RTLD_GLOBAL | mode) && dlsym(RTLD_DEFAULT, "Py_IsInitialized");
}

/* By the usual names, where the system looks for libraries; or only among those that are loaded. */
static int opened_by_name(int mode)
{
    static const char *const names[] = {"libpython3.11.so.1.0", "libpython3.12.so.1.0", "libpython3.13.so.1.0",
                                        "libpython3.14.so.1.0"};
    size_t k = sizeof names / sizeof *names;
    while (k && !opened(names[k - 1], mode))
        k--;
    return k > 0;
}

/* If the host is no Python, load one, so that pythonfmu's library finds its functions. */
static String load_python(void)
{
    /* the host may have one that only itself sees */
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") || opened_by_name(RTLD_NOLOAD))
        return NULL;
    const char *given = getenv("LIEGEO_LIBPYTHON");
    if (given && *given)
        return opened(given, 0) ? NULL : "LIEGEO_LIBPYTHON does not name a shared library of Python that can be loaded.";
    FILE *answer = popen(QUESTION, "r");
    if (answer) {
        char line[PATH_MAX];
        int found = 0;
        while (fgets(line, sizeof line, answer)) {
            size_t n = length(line);
            if (n && line[n - 1] == '\n')
                line[n - 1] = 0;
            found = found || opened(line, 0);
        }
        pclose(answer);
        if (found)
            return NULL;
    }
    if (opened_by_name(0))
        return NULL;
    return "No shared library of Python is found, and the host is no Python. Put a python3 that has one (3.11 or later, "
           "with what resources/requirements.txt says) on PATH, or name it by LIEGEO_LIBPYTHON=/path/libpython3.x.so.";
}

static String load_library(void)
{
    static char file[PATH_MAX + 32];
    static const char name[] = "pythonfmu-export.so";
    size_t n = length(self);
    while (n && self[n - 1] != '/')
        n--;
    for (size_t k = 0; k < n; k++)
        file[k] = self[k];
    for (size_t k = 0; k < sizeof name; k++)
        file[n + k] = name[k];
    inner.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return inner.library ? NULL : dlerror();
}
#endif

static void free_inside(Instance *instance)
{
    while (instance->states) {
        Kept *kept = instance->states;
        instance->states = kept->next;
        inner.free_state(instance->inside, &kept->inside);
        drop(kept);
    }
    inner.free_instance(instance->inside);
}

/* Hosts that are Python may call us when they are half gone themselves. */
static int python_is_gone(void)
{
    return inner.python_runs && !inner.python_runs();
}

#ifdef _WIN32
static void when_loaded(void)
{
}

static void when_started(void)
{
}
#else
extern int __cxa_atexit(void (*)(void *), void *, void *);
extern void __cxa_finalize(void *);
static char token;

/* pythonfmu's library has a static object that may keep Python running, and uses it where it ends, after the object is
 * destroyed.  So it is made to let go before that: here, where the process ends or we are unloaded. */
static void let_go(void *nothing)
{
    (void)nothing;
    if (inner.let_python_go)
        inner.let_python_go();
}

/* The same where Python was started by that object: it ends now. */
static void end_python(void *nothing)
{
    for (Instance *instance = instances; instance && !python_is_gone(); instance = instance->next) {
        /* forgotten by a host that may be half gone */
        instance->host.logger = NULL;
        if (instance->block.mode != DEAD)
            free_inside(instance);
        /* should it be called all the same */
        instance->block.mode = DEAD;
    }
    instances = NULL;
    let_go(nothing);
}

/* Whether Python is to be started by the library behind us. */
static int ours;

/* What is registered later is called earlier: this before the objects of the library that has just been loaded go, */
static void when_loaded(void)
{
    ours = !inner.python_runs();
    if (!ours)
        __cxa_atexit(let_go, NULL, &token);
}

/* and this before those of numpy and others that were loaded with the first instance. */
static void when_started(void)
{
    static atomic_flag known = ATOMIC_FLAG_INIT;
    if (!ours || atomic_flag_test_and_set(&known))
        return;
    /* numpy does not survive a second start of Python in a process: it runs, and we stay, until the process ends */
    if (dlopen(self, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE))
        __cxa_atexit(end_python, NULL, NULL);
}

__attribute__((destructor)) static void unload(void)
{
    __cxa_finalize(&token);
    if (inner.library)
        dlclose(inner.library);
}
#endif

/* NULL, or what is wrong. */
static String load(void)
{
    if (inner.library)
        return NULL;
    String wrong = load_python();
    if (!wrong)
        wrong = load_library();
    if (wrong)
        return wrong;
#define FIND(field, name) (*(void **)&inner.field = symbol(name))
    int all = FIND(instantiate, "fmi2Instantiate") && FIND(free_instance, "fmi2FreeInstance") &&
              FIND(enter, "fmi2EnterInitializationMode") && FIND(leave, "fmi2ExitInitializationMode") &&
              FIND(terminate, "fmi2Terminate") && FIND(reset, "fmi2Reset") && FIND(set_real, "fmi2SetReal") &&
              FIND(set_integer, "fmi2SetInteger") && FIND(get_integer, "fmi2GetInteger") &&
              FIND(set_string, "fmi2SetString") && FIND(get_string, "fmi2GetString") && FIND(do_step, "fmi2DoStep") &&
              FIND(get_state, "fmi2GetFMUstate") && FIND(set_state, "fmi2SetFMUstate") &&
              FIND(free_state, "fmi2FreeFMUstate") && FIND(state_size, "fmi2SerializedFMUstateSize") &&
              FIND(state_to_bytes, "fmi2SerializeFMUstate") && FIND(state_from_bytes, "fmi2DeSerializeFMUstate");
    FIND(let_python_go, "finalizePythonInterpreter");
#ifndef _WIN32
    *(void **)&inner.python_runs = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
#endif
    if (!all) {
        inner.library = NULL;
        return "pythonfmu's library beside the FMU's lacks functions of FMI 2.0.";
    }
    when_loaded();
    return NULL;
}

/* ---- the slave */

/* What came back from pythonfmu's library, and what the slave wrote; an error ends the run. */
static Status settled(Instance *instance, Status outer)
{
    Status status = instance->block.status;
    if (outer >= ERROR)
        status = outer;
    if (status == FATAL)
        instance->block.mode = DEAD;
    else if (status == ERROR)
        instance->block.mode = BROKEN;
    return status;
}

static Status ask(Instance *instance, unsigned what)
{
    Reference reference = CHANNEL + what;
    Integer nothing;
    instance->block.status = OK;
    return settled(instance, inner.get_integer(instance->inside, &reference, 1, &nothing));
}

/* Show the slave the block; it fills in its variables. */
static Status attach(Instance *instance)
{
    Reference references[2] = {CHANNEL, CHANNEL + 1};
    uint64_t address = (uint64_t)(uintptr_t)&instance->block;
    Integer halves[2] = {(Integer)(uint32_t)address, (Integer)(uint32_t)(address >> 32)};
    instance->block.status = ERROR;
    return settled(instance, inner.set_integer(instance->inside, references, 2, halves));
}

static Status refuse(Instance *instance, Status status, String function, int reason, String what, uint64_t reference, Real x,
                     Real y)
{
    Block *block = &instance->block;
    if (block->mode == DEAD)
        return FATAL;
    block->function = function, block->what = what, block->reason = reason;
    block->reference = reference, block->x = x, block->y = y;
    Reference channel = CHANNEL + REFUSE;
    Integer nothing;
    block->status = status;
    inner.get_integer(instance->inside, &channel, 1, &nothing);
    if (status == ERROR)
        block->mode = BROKEN;
    return status;
}

/* Which modes the functions are allowed in: FMI 2.0.4, 4.2.4. */
enum {
    ALWAYS = NEW | INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN,
    READING = INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN,
    WRITING = NEW | INITIALISING | STEPPING,
    RATES = STEPPING | FAILED | TERMINATED | BROKEN,
    STATUSES = STEPPING | FAILED | TERMINATED
};

/* `status` is there after it, OK or what to return. */
#define BEGIN(function, modes)                                                                                         \
    Instance *instance = c;                                                                                            \
    if (!instance)                                                                                                     \
        return ERROR;                                                                                                  \
    if (python_is_gone())                                                                                              \
        return FATAL;                                                                                                  \
    Block *block = &instance->block;                                                                                   \
    static const char name[] = function;                                                                               \
    (void)block;                                                                                                       \
    if (!(block->mode & (modes)))                                                                                      \
        return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0)

#define NOT_NULL(argument)                                                                                             \
    if (!(argument))                                                                                                   \
        return refuse(instance, ERROR, name, IS_NULL, #argument, 0, 0.0, 0.0)

static int finite(Real x)
{
    return x - x == 0.0;
}

/* The first of these that is no variable of the kind, or n. */
static size_t stranger(const Block *block, const Reference *references, size_t n, unsigned kind)
{
    size_t k = 0;
    while (k < n && references[k] < block->n && (block->kinds[references[k]] & kind))
        k++;
    return k;
}

/* ---- life */

EXPORT String fmi2GetTypesPlatform(void)
{
    return "default";
}

EXPORT String fmi2GetVersion(void)
{
    return "2.0";
}

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path that a URI means: file:///a%20b, file://localhost/a, file:/a; what is no URI is a path. */
static char *path_of(String location)
{
    char *path = copied(location), *into = path;
    if (!path)
        return NULL;
    const char *from = location;
    int uri = 1;
    for (const char *scheme = "file:"; uri && *scheme; scheme++, from++)
        uri = *from == *scheme || (*from | 32) == *scheme;
    if (!uri)
        return path;
    if (from[0] == '/' && from[1] == '/')
        for (from += 2; *from && *from != '/'; from++)
            ;
#ifdef _WIN32
    if (from[0] == '/' && from[1] && from[2] == ':')
        from++;
#endif
    while (*from) {
        int high = *from == '%' ? hexadecimal(from[1]) : -1, low = high < 0 ? -1 : hexadecimal(from[2]);
        *into++ = low < 0 ? *from : (char)(16 * high + low);
        from += low < 0 ? 1 : 3;
    }
    *into = 0;
    return path;
}

/* Whether a location is a URI that names no file: http://…; a letter and a colon are a drive. */
static int is_elsewhere(String location)
{
    size_t n = 0;
    while ((location[n] >= 'a' && location[n] <= 'z') || (location[n] >= 'A' && location[n] <= 'Z') ||
           (n && ((location[n] >= '0' && location[n] <= '9') || location[n] == '+' || location[n] == '-' ||
                  location[n] == '.')))
        n++;
    if (n < 2 || location[n] != ':' || location[n + 1] != '/' || location[n + 2] != '/')
        return 0;
    const char *file = "file";
    for (size_t k = 0; k < 4 && n == 4; k++)
        if ((location[k] | 32) != file[k])
            return 1;
    return n != 4;
}

/* Whether the folder has the script that pythonfmu's library runs, and does not survive without. */
static int has_script(const char *folder)
{
    char name[256], start[2];
    char *file = *folder ? joined(folder, "/slavemodule.txt", "") : NULL;
    size_t n = file ? beginning(file, name, sizeof name) : 0;
    drop(file);
    for (size_t k = 0; k < n; k++)
        if (name[k] == '\n' || name[k] == '\r')
            name[k] = 0;
    if (!n || !name[0])
        return 0;
    char *script = joined(folder, "/", name), *whole = script ? joined(script, ".py", "") : NULL;
    n = whole ? beginning(whole, start, sizeof start) : 0;
    drop(script);
    drop(whole);
    return n > 0;
}

static void free_memory_of(Instance *instance)
{
    drop(instance->name);
    drop(instance->guid);
    drop(instance);
}

static Component failed(Instance *instance, String why, char *path)
{
    if (why)
        say(instance, ERROR, NULL, why);
    drop(path);
    free_memory_of(instance);
    return NULL;
}

EXPORT Component fmi2Instantiate(String instanceName, Type fmuType, String fmuGUID, String fmuResourceLocation,
                                 const Callbacks *functions, Boolean visible, Boolean loggingOn)
{
    Instance *instance = functions ? grab(sizeof *instance) : NULL;
    if (!instance)
        return NULL;
    instance->host = *functions;
    instance->ours.logger = heard;
    instance->ours.allocate = functions->allocate, instance->ours.release = functions->release;
    instance->ours.environment = instance;
    instance->logging = loggingOn;
    instance->name = copied(instanceName && is_text(instanceName) ? instanceName : "fmu");
    instance->guid = copied(fmuGUID ? fmuGUID : "");
    if (!instance->name || !instance->guid)
        return failed(instance, NULL, NULL);
    if (fmuType != CO_SIMULATION)
        return failed(instance, "fmi2Instantiate: the FMU is for co-simulation, not for model exchange.", NULL);
    char *path = fmuResourceLocation ? path_of(fmuResourceLocation) : NULL;
    if (!path)
        return failed(instance, "fmi2Instantiate: fmuResourceLocation is NULL, expected the URI of the resources.", NULL);
    if (!is_text(path))
        return failed(instance, "fmi2Instantiate: the path of the resources is not UTF-8.", path);
    if (is_elsewhere(fmuResourceLocation) || !has_script(path)) {
        char *why = joined("fmi2Instantiate: fmuResourceLocation is '", fmuResourceLocation,
                           "', expected the file: URI of the unpacked folder 'resources' of this FMU, with "
                           "slavemodule.txt and the script that it names.");
        failed(instance, why, path);
        drop(why);
        return NULL;
    }
    lock();
    String wrong = load();
    unlock();
    if (wrong)
        return failed(instance, wrong, path);
    Block *block = &instance->block;
    block->magic = MAGIC, block->size = sizeof *block;
    block->mode = NEW;
    block->guid = instance->guid;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    instance->inside = inner.instantiate(instance->name, fmuType, instance->guid, path, &instance->ours, visible, 1);
    when_started();
    if (!instance->inside)
        return failed(instance, NULL, path);
    if (attach(instance) >= ERROR) {
        free_inside(instance);
        return failed(instance, NULL, path);
    }
    drop(path);
    lock();
    instance->next = instances;
    if (instances)
        instances->before = instance;
    instances = instance;
    unlock();
    return instance;
}

EXPORT void fmi2FreeInstance(Component c)
{
    Instance *instance = c;
    if (!instance)
        return;
    lock();
    if (instance->next)
        instance->next->before = instance->before;
    if (instance->before)
        instance->before->next = instance->next;
    else if (instances == instance)
        instances = instance->next;
    unlock();
    /* what is dead is left as it lies */
    if (instance->block.mode != DEAD && !python_is_gone())
        free_inside(instance);
    free_memory_of(instance);
}

EXPORT Status fmi2SetDebugLogging(Component c, Boolean loggingOn, size_t nCategories, const String categories[])
{
    BEGIN("fmi2SetDebugLogging", ALWAYS);
    Status status = OK;
    if (nCategories)
        NOT_NULL(categories);
    unsigned chosen = 0;
    for (size_t k = 0; k < nCategories; k++) {
        NOT_NULL(categories[k]);
        unsigned bit = bit_of(categories[k]);
        /* the first is that of all messages */
        chosen |= bit == 1u ? ~0u : bit;
        if (!bit)
            status = refuse(instance, WARNING, name, NO_CATEGORY, categories[k], 0, 0.0, 0.0);
    }
    instance->logging = loggingOn;
    instance->categories = chosen;
    return status;
}

EXPORT Status fmi2SetupExperiment(Component c, Boolean toleranceDefined, Real tolerance, Real startTime,
                                  Boolean stopTimeDefined, Real stopTime)
{
    BEGIN("fmi2SetupExperiment", NEW);
    if (!finite(startTime) || (stopTimeDefined && !(stopTime >= startTime)))
        return refuse(instance, ERROR, name, TIMES, NULL, 0, startTime, stopTimeDefined ? stopTime : 0.0 / 0.0);
    block->start = startTime;
    block->stop = stopTimeDefined ? stopTime : 0.0 / 0.0;
    block->tolerance = toleranceDefined ? tolerance : 0.0 / 0.0;
    return OK;
}

/* A call of pythonfmu's library that ends in a mode, if all is well. */
static Status forward(Instance *instance, Status (*function)(Component), int mode)
{
    instance->block.status = OK;
    Status status = settled(instance, function(instance->inside));
    if (status < DISCARD)
        instance->block.mode = mode;
    return status;
}

EXPORT Status fmi2EnterInitializationMode(Component c)
{
    BEGIN("fmi2EnterInitializationMode", NEW);
    return forward(instance, inner.enter, INITIALISING);
}

EXPORT Status fmi2ExitInitializationMode(Component c)
{
    BEGIN("fmi2ExitInitializationMode", INITIALISING);
    return forward(instance, inner.leave, STEPPING);
}

EXPORT Status fmi2Terminate(Component c)
{
    BEGIN("fmi2Terminate", STEPPING | FAILED);
    return forward(instance, inner.terminate, TERMINATED);
}

EXPORT Status fmi2Reset(Component c)
{
    BEGIN("fmi2Reset", ALWAYS);
    /* the arrays are those of an object that is going to be replaced */
    block->n = 0, block->values = NULL, block->kinds = NULL;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    block->fresh = block->changed = 0;
    block->mode = NEW;
    if (inner.reset(instance->inside) >= ERROR || attach(instance) >= ERROR)
        block->mode = DEAD;
    return block->mode == DEAD ? FATAL : OK;
}

/* ---- variables */

EXPORT Status fmi2GetReal(Component c, const Reference vr[], size_t nvr, Real value[])
{
    BEGIN("fmi2GetReal", READING);
    if (nvr) {
        NOT_NULL(vr);
        NOT_NULL(value);
    }
    unsigned kinds = 0;
    for (size_t k = 0; k < nvr; k++) {
        if (vr[k] >= block->n || !(block->kinds[vr[k]] & IS_REAL))
            return refuse(instance, ERROR, name, NO_SUCH, "Real", vr[k], 0.0, 0.0);
        kinds |= block->kinds[vr[k]];
    }
    int needed = kinds & IS_COMPUTED ? 2 : kinds & IS_DIRECT ? 1 : 0;
    if (needed > block->asked)
        block->asked = needed;
    Status status = needed > block->fresh ? ask(instance, needed == 2 ? COMPLETE : REFRESH) : OK;
    if (status >= ERROR)
        return status;
    for (size_t k = 0; k < nvr; k++)
        value[k] = block->values[vr[k]];
    return status;
}

static Status none(Instance *instance, String name, String type, const Reference *references, size_t n)
{
    if (!n)
        return OK;
    NOT_NULL(references);
    return refuse(instance, ERROR, name, NO_SUCH, type, references[0], 0.0, 0.0);
}

EXPORT Status fmi2GetInteger(Component c, const Reference vr[], size_t nvr, Integer value[])
{
    (void)value;
    BEGIN("fmi2GetInteger", READING);
    return none(instance, name, "Integer", vr, nvr);
}

EXPORT Status fmi2GetBoolean(Component c, const Reference vr[], size_t nvr, Boolean value[])
{
    (void)value;
    BEGIN("fmi2GetBoolean", READING);
    return none(instance, name, "Boolean", vr, nvr);
}

EXPORT Status fmi2GetString(Component c, const Reference vr[], size_t nvr, String value[])
{
    BEGIN("fmi2GetString", READING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    size_t k = stranger(block, vr, nvr, IS_STRING);
    if (k < nvr)
        return refuse(instance, ERROR, name, NO_SUCH, "String", vr[k], 0.0, 0.0);
    block->status = OK;
    return settled(instance, inner.get_string(instance->inside, vr, nvr, value));
}

/* Whether all of these may be written now. */
static Status writable(Instance *instance, String name, String type, unsigned kind, const Reference *references, size_t n)
{
    Block *block = &instance->block;
    for (size_t k = 0; k < n; k++) {
        Reference r = references[k];
        unsigned kinds = r < block->n ? block->kinds[r] : 0;
        if (!(kinds & kind))
            return refuse(instance, ERROR, name, NO_SUCH, type, r, 0.0, 0.0);
        if (!(kinds & (IS_INPUT | IS_PARAMETER)))
            return refuse(instance, ERROR, name, CANNOT_BE_SET, NULL, r, 0.0, 0.0);
        if (block->mode == STEPPING && !(kinds & (IS_INPUT | IS_TUNABLE)))
            return refuse(instance, ERROR, name, IS_FIXED, NULL, r, 0.0, 0.0);
    }
    return OK;
}

EXPORT Status fmi2SetReal(Component c, const Reference vr[], size_t nvr, const Real value[])
{
    BEGIN("fmi2SetReal", WRITING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    Status status = writable(instance, name, "Real", IS_REAL, vr, nvr);
    if (status)
        return status;
    size_t inputs = 0;
    for (size_t k = 0; k < nvr; k++) {
        /* a value that cannot be taken: nothing is set, and the FMU goes on with what it has */
        if (!finite(value[k]))
            return refuse(instance, DISCARD, name, NOT_FINITE, NULL, vr[k], value[k], 0.0);
        inputs += (block->kinds[vr[k]] & IS_INPUT) != 0;
    }
    if (inputs < nvr) {
        block->status = OK;
        return settled(instance, inner.set_real(instance->inside, vr, nvr, value));
    }
    for (size_t k = 0; k < nvr; k++)
        block->values[vr[k]] = value[k];
    block->changed = 1, block->fresh = 0;
    return OK;
}

EXPORT Status fmi2SetInteger(Component c, const Reference vr[], size_t nvr, const Integer value[])
{
    (void)value;
    BEGIN("fmi2SetInteger", WRITING);
    return none(instance, name, "Integer", vr, nvr);
}

EXPORT Status fmi2SetBoolean(Component c, const Reference vr[], size_t nvr, const Boolean value[])
{
    (void)value;
    BEGIN("fmi2SetBoolean", WRITING);
    return none(instance, name, "Boolean", vr, nvr);
}

EXPORT Status fmi2SetString(Component c, const Reference vr[], size_t nvr, const String value[])
{
    BEGIN("fmi2SetString", WRITING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    Status status = writable(instance, name, "String", IS_STRING, vr, nvr);
    if (status)
        return status;
    for (size_t k = 0; k < nvr; k++) {
        NOT_NULL(value[k]);
        if (!is_text(value[k]))
            return refuse(instance, ERROR, name, NOT_TEXT, NULL, vr[k], 0.0, 0.0);
    }
    block->status = OK;
    return settled(instance, inner.set_string(instance->inside, vr, nvr, value));
}

/* ---- derivatives */

EXPORT Status fmi2GetDirectionalDerivative(Component c, const Reference vUnknown_ref[], size_t nUnknown,
                                           const Reference vKnown_ref[], size_t nKnown, const Real dvKnown[],
                                           Real dvUnknown[])
{
    BEGIN("fmi2GetDirectionalDerivative", READING);
    if (nUnknown) {
        NOT_NULL(vUnknown_ref);
        NOT_NULL(dvUnknown);
    }
    if (nKnown) {
        NOT_NULL(vKnown_ref);
        NOT_NULL(dvKnown);
    }
    size_t k = stranger(block, vUnknown_ref, nUnknown, IS_OUTPUT);
    if (k < nUnknown)
        return refuse(instance, ERROR, name, NOT_UNKNOWN, NULL, vUnknown_ref[k], 0.0, 0.0);
    for (k = 0; k < nKnown; k++) {
        unsigned kinds = vKnown_ref[k] < block->n ? block->kinds[vKnown_ref[k]] : 0;
        int parameter = block->mode == INITIALISING && (kinds & IS_PARAMETER);
        if (!(kinds & IS_REAL) || !(parameter || (kinds & IS_INPUT)))
            return refuse(instance, ERROR, name, NOT_KNOWN, NULL, vKnown_ref[k], 0.0, 0.0);
        if (!finite(dvKnown[k]))
            return refuse(instance, ERROR, name, NOT_FINITE, NULL, vKnown_ref[k], dvKnown[k], 0.0);
    }
    if (!nUnknown)
        return OK;
    block->references = vUnknown_ref, block->n_references = nUnknown;
    block->known = vKnown_ref, block->n_known = nKnown;
    block->given = dvKnown, block->out = dvUnknown;
    return ask(instance, DIRECTIONAL);
}

EXPORT Status fmi2SetRealInputDerivatives(Component c, const Reference vr[], size_t nvr, const Integer order[],
                                          const Real value[])
{
    BEGIN("fmi2SetRealInputDerivatives", WRITING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(order);
    NOT_NULL(value);
    size_t k = stranger(block, vr, nvr, IS_INPUT);
    if (k < nvr)
        return refuse(instance, ERROR, name, NO_SUCH, "input", vr[k], 0.0, 0.0);
    for (k = 0; k < nvr; k++)
        if (order[k] < 1)
            return refuse(instance, ERROR, name, NO_ORDER, NULL, vr[k], order[k], 0.0);
    for (k = 0; k < nvr; k++)
        if (!finite(value[k]))
            return refuse(instance, DISCARD, name, NOT_FINITE, NULL, vr[k], value[k], 0.0);
    block->references = vr, block->n_references = nvr;
    block->orders = order, block->given = value;
    return ask(instance, INPUT_RATES);
}

EXPORT Status fmi2GetRealOutputDerivatives(Component c, const Reference vr[], size_t nvr, const Integer order[],
                                           Real value[])
{
    BEGIN("fmi2GetRealOutputDerivatives", RATES);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(order);
    NOT_NULL(value);
    size_t k = stranger(block, vr, nvr, IS_OUTPUT);
    if (k < nvr)
        return refuse(instance, ERROR, name, NO_SUCH, "output", vr[k], 0.0, 0.0);
    for (k = 0; k < nvr; k++)
        if (order[k] != 1)
            return refuse(instance, ERROR, name, NO_ORDER, NULL, vr[k], order[k], 0.0);
    block->references = vr, block->n_references = nvr;
    block->out = value;
    return ask(instance, OUTPUT_RATES);
}

/* ---- steps */

/* What masters may differ by in what they call the time: its round-off, and a small share of the step. */
static Real slack(Real time, Real step)
{
    return 16.0 * 2.220446049250313e-16 * (time < 0.0 ? -time : time) + 1e-6 * step;
}

EXPORT Status fmi2DoStep(Component c, Real currentCommunicationPoint, Real communicationStepSize,
                         Boolean noSetFMUStatePriorToCurrentPoint)
{
    BEGIN("fmi2DoStep", STEPPING);
    Real t = currentCommunicationPoint, size = communicationStepSize;
    if (!finite(t) || !finite(size) || !(size > 0.0))
        return refuse(instance, ERROR, name, STEP_SIZE, NULL, 0, t, size);
    Real away = t - block->time, allowed = slack(block->time, size);
    if (away > allowed || -away > allowed)
        return refuse(instance, ERROR, name, STEP_START, NULL, 0, t, block->time);
    if (t + size == t)
        return refuse(instance, ERROR, name, STEP_NOTHING, NULL, 0, t, size);
    /* a sum of a million steps may end a thousandth of one beside it */
    if (block->stop == block->stop && t + size > block->stop + slack(block->stop, 1e3 * size))
        return refuse(instance, ERROR, name, STEP_STOP, NULL, 0, t + size, block->stop);
    block->status = OK;
    Status status = settled(instance, inner.do_step(instance->inside, t, size, noSetFMUStatePriorToCurrentPoint));
    if (status == DISCARD)
        block->mode = FAILED;
    return status;
}

EXPORT Status fmi2CancelStep(Component c)
{
    BEGIN("fmi2CancelStep", 0);
    return OK;
}

/* Nothing is ever pending here, and what cannot be told is discarded. */
static Status no_status(Instance *instance, String name)
{
    return refuse(instance, DISCARD, name, NO_STATUS, NULL, 0, 0.0, 0.0);
}

EXPORT Status fmi2GetStatus(Component c, const StatusKind s, Status *value)
{
    (void)s;
    BEGIN("fmi2GetStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

EXPORT Status fmi2GetRealStatus(Component c, const StatusKind s, Real *value)
{
    BEGIN("fmi2GetRealStatus", STATUSES);
    NOT_NULL(value);
    if (s != LAST_SUCCESSFUL_TIME)
        return no_status(instance, name);
    *value = block->time;
    return OK;
}

EXPORT Status fmi2GetIntegerStatus(Component c, const StatusKind s, Integer *value)
{
    (void)s;
    BEGIN("fmi2GetIntegerStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

EXPORT Status fmi2GetBooleanStatus(Component c, const StatusKind s, Boolean *value)
{
    BEGIN("fmi2GetBooleanStatus", STATUSES);
    NOT_NULL(value);
    if (s != TERMINATED_STATUS)
        return no_status(instance, name);
    /* the FMU never ends a run by itself */
    *value = 0;
    return OK;
}

EXPORT Status fmi2GetStringStatus(Component c, const StatusKind s, String *value)
{
    (void)s;
    BEGIN("fmi2GetStringStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

/* ---- state: what hosts hold is ours, so that what is none is noticed */

static Kept *kept_by(const Instance *instance, State state)
{
    Kept *kept = instance->states;
    while (kept && kept != state)
        kept = kept->next;
    return kept;
}

#define NEEDS_STATE(kept, state)                                                                                       \
    Kept *kept = kept_by(instance, state);                                                                             \
    if (!kept)                                                                                                         \
    return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0)

/* Put a state from inside into the one that the host gave, or into a new one. */
static Status keep(Instance *instance, State inside, Kept *kept, State *into)
{
    if (kept) {
        inner.free_state(instance->inside, &kept->inside);
    } else {
        kept = grab(sizeof *kept);
        if (!kept) {
            inner.free_state(instance->inside, &inside);
            return ERROR;
        }
        kept->next = instance->states;
        instance->states = kept;
    }
    kept->inside = inside;
    *into = kept;
    return OK;
}

EXPORT Status fmi2GetFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2GetFMUstate", ALWAYS);
    NOT_NULL(FMUstate);
    Kept *kept = kept_by(instance, *FMUstate);
    if (*FMUstate && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State inside = NULL;
    block->status = OK;
    Status status = settled(instance, inner.get_state(instance->inside, &inside));
    if (status >= ERROR) {
        if (inside && status == ERROR)
            inner.free_state(instance->inside, &inside);
        return status;
    }
    return keep(instance, inside, kept, FMUstate);
}

EXPORT Status fmi2SetFMUstate(Component c, State FMUstate)
{
    BEGIN("fmi2SetFMUstate", ALWAYS);
    NEEDS_STATE(kept, FMUstate);
    block->status = OK;
    return settled(instance, inner.set_state(instance->inside, kept->inside));
}

EXPORT Status fmi2FreeFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2FreeFMUstate", ALWAYS);
    if (!FMUstate || !*FMUstate)
        return OK;
    NEEDS_STATE(kept, *FMUstate);
    Kept **link = &instance->states;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    *FMUstate = NULL;
    block->status = OK;
    Status status = settled(instance, inner.free_state(instance->inside, &kept->inside));
    drop(kept);
    return status;
}

EXPORT Status fmi2SerializedFMUstateSize(Component c, State FMUstate, size_t *size)
{
    BEGIN("fmi2SerializedFMUstateSize", ALWAYS);
    NOT_NULL(size);
    NEEDS_STATE(kept, FMUstate);
    Status status = inner.state_size(instance->inside, kept->inside, size);
    return status >= ERROR ? settled(instance, status) : ask(instance, HEARD);
}

EXPORT Status fmi2SerializeFMUstate(Component c, State FMUstate, Byte serializedState[], size_t size)
{
    BEGIN("fmi2SerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    NEEDS_STATE(kept, FMUstate);
    size_t needed = 0;
    Status status = inner.state_size(instance->inside, kept->inside, &needed);
    if (status < ERROR)
        status = ask(instance, HEARD);
    if (status >= ERROR)
        return settled(instance, status);
    if (size < needed)
        return refuse(instance, ERROR, name, TOO_SMALL, NULL, 0, (Real)size, (Real)needed);
    block->status = OK;
    return settled(instance, inner.state_to_bytes(instance->inside, kept->inside, serializedState, needed));
}

EXPORT Status fmi2DeSerializeFMUstate(Component c, const Byte serializedState[], size_t size, State *FMUstate)
{
    BEGIN("fmi2DeSerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    NOT_NULL(FMUstate);
    Kept *kept = kept_by(instance, *FMUstate);
    if (*FMUstate && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State inside = NULL;
    Status status = inner.state_from_bytes(instance->inside, serializedState, size, &inside);
    if (status >= ERROR)
        return settled(instance, status);
    /* the slave made a state of it in any case, and says now whether the bytes were one */
    status = ask(instance, HEARD);
    if (status >= ERROR) {
        inner.free_state(instance->inside, &inside);
        return status;
    }
    return keep(instance, inside, kept, FMUstate);
}

/* ---- model exchange, which is not offered */

#define OTHER(function, ...)                                                                                           \
    EXPORT Status function(Component c, ##__VA_ARGS__)                                                                 \
    {                                                                                                                  \
        BEGIN(#function, ALWAYS);                                                                                      \
        return refuse(instance, ERROR, name, NOT_OFFERED, NULL, 0, 0.0, 0.0);                                          \
    }

OTHER(fmi2EnterEventMode)
OTHER(fmi2NewDiscreteStates, void *eventInfo)
OTHER(fmi2EnterContinuousTimeMode)
OTHER(fmi2CompletedIntegratorStep, Boolean noSetPrior, Boolean *enterEventMode, Boolean *terminateSimulation)
OTHER(fmi2SetTime, Real time)
OTHER(fmi2SetContinuousStates, const Real x[], size_t nx)
OTHER(fmi2GetDerivatives, Real derivatives[], size_t nx)
OTHER(fmi2GetEventIndicators, Real eventIndicators[], size_t ni)
OTHER(fmi2GetContinuousStates, Real x[], size_t nx)
OTHER(fmi2GetNominalsOfContinuousStates, Real x_nominal[], size_t nx)
