/* Python inside an FMU: pythonfmu's library, which lies beside ours, and behind it the slave (fmu_export/slave.py).
 *
 * pythonfmu's library hands on what FMI's functions say, but knows no status of a slave, no derivatives and no Python to
 * load.  So the slave shares the instance's block: it answers with a status in it, finds arguments there, and keeps the
 * values of variables in an array that fmi2.c reads and writes without a call of Python.  Two private channels lead to
 * it, because FMUs have no variables of type Integer: fmi2SetInteger hands it the address of the block, fmi2GetInteger
 * asks it for something (`ask`).
 */
#ifndef _WIN32
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#endif
#include <stdatomic.h>

#include "fmu.h"
#include "system.h"

/* The private references; those of variables are small. */
#define CHANNEL 0x7e000000u
/* Asked for beside what fmi2.c asks for: whether all was well with the bytes of a state. */
enum { HEARD = 7 };

/* What stands behind an instance. */
typedef struct Slave {
    Component component;
    Callbacks callbacks;
    Instance *instance;
    struct Slave *next, *before;
} Slave;

/* All of them, for the end of the process. */
static Slave *slaves;

/* ---- loading */

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
    GetModuleHandleExW(OF_ADDRESS | NOT_COUNTED, (const wchar_t *)(void *)&slaves, &self);
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
    if (!dladdr((void *)&slaves, &info) || !info.dli_fname || !realpath(info.dli_fname, self))
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

/* Hosts that are Python may call us when they are half gone themselves. */
static int is_gone(void)
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
    /* forgotten by hosts that may be half gone */
    while (slaves && !is_gone())
        forget(slaves->instance);
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

static Component component_of(const Instance *instance)
{
    return ((const Slave *)instance->machine)->component;
}

/* Calls of pythonfmu's library: the slave's own status is in the block. */
#define ASKED(instance, function, ...)                                                                                 \
    ((instance)->block.status = OK, settled(instance, inner.function(component_of(instance), ##__VA_ARGS__)))

/* What came back from pythonfmu's library, and what the slave wrote. */
static Status settled(const Instance *instance, Status outer)
{
    return outer >= ERROR ? outer : (Status)instance->block.status;
}

static Status ask(Instance *instance, int what)
{
    Reference reference = CHANNEL + (unsigned)what;
    Integer nothing;
    return ASKED(instance, get_integer, &reference, 1, &nothing);
}

/* Show the slave the block; it fills in its variables, or says what is wrong in the log. */
static Status attach(Instance *instance)
{
    Reference references[2] = {CHANNEL, CHANNEL + 1};
    uint64_t address = (uint64_t)(uintptr_t)&instance->block;
    Integer halves[2] = {(Integer)(uint32_t)address, (Integer)(uint32_t)(address >> 32)};
    instance->block.status = ERROR;
    return settled(instance, inner.set_integer(component_of(instance), references, 2, halves));
}

static void heard(void *environment, String name, Status status, String category, String message, ...)
{
    (void)name;
    say(environment, status, category, message ? message : "");
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

static void close_slave(Instance *instance)
{
    Slave *slave = instance->machine;
    if (!slave)
        return;
    lock();
    if (slave->next)
        slave->next->before = slave->before;
    if (slave->before)
        slave->before->next = slave->next;
    else if (slaves == slave)
        slaves = slave->next;
    unlock();
    /* what is dead is left as it lies */
    if (instance->block.mode != DEAD && !is_gone())
        inner.free_instance(slave->component);
    instance->machine = NULL;
    drop(slave);
}

static String open_slave(Instance *instance, String folder)
{
    lock();
    String wrong = load();
    unlock();
    if (wrong)
        return wrong;
    Slave *slave = grab(sizeof *slave);
    if (!slave)
        return "there is no memory.";
    instance->machine = slave;
    slave->instance = instance;
    slave->callbacks = instance->host;
    slave->callbacks.logger = heard, slave->callbacks.step_finished = NULL, slave->callbacks.environment = instance;
    slave->component = inner.instantiate(instance->name, CO_SIMULATION, "", folder, &slave->callbacks, 0, 1);
    when_started();
    if (!slave->component) {
        instance->machine = NULL;
        drop(slave);
        return "";
    }
    lock();
    slave->next = slaves;
    if (slaves)
        slaves->before = slave;
    slaves = slave;
    unlock();
    return attach(instance) >= ERROR ? "" : NULL;
}

static Status enter(Instance *instance)
{
    return ASKED(instance, enter);
}

static Status leave(Instance *instance)
{
    return ASKED(instance, leave);
}

static Status terminate(Instance *instance)
{
    return ASKED(instance, terminate);
}

/* Another object takes the slave's place. */
static Status reset(Instance *instance)
{
    Status status = inner.reset(component_of(instance));
    return status >= ERROR ? status : attach(instance);
}

static Status set_real(Instance *instance, const Reference *references, size_t n, const Real *values)
{
    return ASKED(instance, set_real, references, n, values);
}

static Status set_string(Instance *instance, const Reference *references, size_t n, const String *values)
{
    return ASKED(instance, set_string, references, n, values);
}

static Status get_string(Instance *instance, const Reference *references, size_t n, String *values)
{
    return ASKED(instance, get_string, references, n, values);
}

static Status do_step(Instance *instance, Real t, Real size)
{
    return ASKED(instance, do_step, t, size, 1);
}

/* ---- states: the slave makes one in any case, and says then whether it is right */

static Status free_state(Instance *instance, State state)
{
    return ASKED(instance, free_state, &state);
}

/* The answer to who wants a state; where it is an error, what was made is freed. */
static Status checked(Instance *instance, Status status, State *state)
{
    if (status == ERROR && *state) {
        inner.free_state(component_of(instance), state);
        *state = NULL;
    }
    return status;
}

static Status get_state(Instance *instance, State *state)
{
    return checked(instance, ASKED(instance, get_state, state), state);
}

static Status set_state(Instance *instance, State state)
{
    return ASKED(instance, set_state, state);
}

/* Bytes, and states of them, are made by functions of the slave's class; the slave knows then how it went. */
static Status state_size(Instance *instance, State state, size_t *n)
{
    Status outer = inner.state_size(component_of(instance), state, n);
    return outer >= ERROR ? outer : ask(instance, HEARD);
}

static Status state_to_bytes(Instance *instance, State state, Byte *bytes, size_t n)
{
    return ASKED(instance, state_to_bytes, state, bytes, n);
}

static Status state_from_bytes(Instance *instance, const Byte *bytes, size_t n, State *state)
{
    Status outer = inner.state_from_bytes(component_of(instance), bytes, n, state);
    return outer >= ERROR ? outer : checked(instance, ask(instance, HEARD), state);
}

const Inside inside = {
    .needs = "slavemodule.txt and the script that it names",
    .has_needs = has_script,
    .open = open_slave,
    .close = close_slave,
    .gone = is_gone,
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
