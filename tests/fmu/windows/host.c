/* A host on Windows, without a C library: loads the FMU whose path is its argument and drives it.
 *
 * Its exit code is 0, or the number of what was wrong.
 */
#include <stddef.h>
#include <stdint.h>

#define SYSTEM __declspec(dllimport)
SYSTEM void *LoadLibraryW(const wchar_t *file);
SYSTEM int FreeLibrary(void *library);
SYSTEM void *GetProcAddress(void *library, const char *name);
SYSTEM wchar_t *GetCommandLineW(void);
SYSTEM void ExitProcess(uint32_t code);
SYSTEM int CreateDirectoryW(const wchar_t *folder, void *security);
SYSTEM void *CreateFileW(const wchar_t *file, uint32_t access, uint32_t share, void *security, uint32_t how,
                         uint32_t flags, void *model);
SYSTEM int WriteFile(void *file, const void *from, uint32_t n, uint32_t *done, void *overlapped);
SYSTEM int CloseHandle(void *handle);

int _fltused = 0;
static int said;

static void logger(void *environment, const char *name, int status, const char *category, const char *message, ...)
{
    (void)environment, (void)name, (void)category, (void)message;
    said += status == 3;
}

static void write_file(const wchar_t *name, const char *text, uint32_t n)
{
    uint32_t done;
    void *file = CreateFileW(name, 0x40000000u, 0, NULL, 2, 0, NULL);
    WriteFile(file, text, n, &done, NULL);
    CloseHandle(file);
}

#define CALL(type, name) ((type(*)())GetProcAddress(library, #name))

static int drive(const wchar_t *file)
{
    static struct {
        void *functions[4], *environment;
    } callbacks;
    callbacks.functions[0] = (void *)logger;
    void *library = LoadLibraryW(file);
    if (!library)
        return 1;
    if (CALL(const char *, fmi2GetVersion)()[0] != '2')
        return 2;
    const char *location = "file:///C:/some%20folder/resources";
    /* for model exchange, without callbacks, without resources: none */
    if (CALL(void *, fmi2Instantiate)("x", 0, "", location, &callbacks, 0, 0) || said != 1 ||
        CALL(void *, fmi2Instantiate)("x", 1, "", location, NULL, 0, 0) ||
        CALL(void *, fmi2Instantiate)("x", 1, "", NULL, &callbacks, 0, 0) || said != 2)
        return 3;
    /* resources that are not there, elsewhere, or without their script */
    if (CALL(void *, fmi2Instantiate)("x", 1, "", location, &callbacks, 0, 0) || said != 3 ||
        CALL(void *, fmi2Instantiate)("x", 1, "", "", &callbacks, 0, 0) || said != 4 ||
        CALL(void *, fmi2Instantiate)("x", 1, "", "http://some.where/resources", &callbacks, 0, 0) || said != 5)
        return 11;
    CreateDirectoryW(L"C:\\some folder", NULL);
    CreateDirectoryW(L"C:\\some folder\\resources", NULL);
    write_file(L"C:\\some folder\\resources\\slavemodule.txt", "script\r\n", 8);
    if (CALL(void *, fmi2Instantiate)("x", 1, "", location, &callbacks, 0, 0) || said != 6)
        return 12;
    write_file(L"C:\\some folder\\resources\\script.py", "pass", 4);
    void *fmu = CALL(void *, fmi2Instantiate)("x", 1, "", location, &callbacks, 0, 0);
    if (!fmu)
        return 4;
    uint32_t input = 0, output = 1, unknown = 7;
    double value = 2.0, found = 0.0;
    void *state = NULL, *none = &value;
    int (*set)(void *, uint32_t *, size_t, double *) = (void *)GetProcAddress(library, "fmi2SetReal");
    int (*get)(void *, uint32_t *, size_t, double *) = (void *)GetProcAddress(library, "fmi2GetReal");
    int (*step)(void *, double, double, int) = (void *)GetProcAddress(library, "fmi2DoStep");
    int (*setup)(void *, int, double, double, int, double) = (void *)GetProcAddress(library, "fmi2SetupExperiment");
    if (step(fmu, 0.0, 0.5, 1) != 3 || CALL(int, fmi2Reset)(fmu) || setup(fmu, 0, 0.0, 0.0, 1, 10.0) ||
        CALL(int, fmi2EnterInitializationMode)(fmu) || CALL(int, fmi2ExitInitializationMode)(fmu))
        return 5;
    if (set(fmu, &input, 1, &value) || step(fmu, 0.0, 0.5, 1) || get(fmu, &output, 1, &found) || found != 1.0)
        return 6;
    if (CALL(int, fmi2GetFMUstate)(fmu, &state) || step(fmu, 0.5, 0.5, 1) || get(fmu, &unknown, 1, &found) != 3 ||
        step(fmu, 1.0, 0.5, 1) != 3 || CALL(int, fmi2SetFMUstate)(fmu, none) != 3)
        return 7;
    if (CALL(int, fmi2SetFMUstate)(fmu, state) || get(fmu, &output, 1, &found) || found != 1.0 ||
        step(fmu, 0.5, 100.0, 1) != 3 || CALL(int, fmi2SetFMUstate)(fmu, state) || step(fmu, 0.5, 0.25, 1))
        return 8;
    if (CALL(int, fmi2FreeFMUstate)(fmu, &state) || state || CALL(int, fmi2Terminate)(fmu))
        return 9;
    CALL(void, fmi2FreeInstance)(fmu);
    return FreeLibrary(library) ? 0 : 10;
}

void wWinMainCRTStartup(void)
{
    /* "program" FMU */
    const wchar_t *line = GetCommandLineW();
    wchar_t end = *line == L'"' ? *line++ : L' ';
    while (*line && *line != end)
        line++;
    while (*line == L'"' || *line == L' ')
        line++;
    ExitProcess((uint32_t)drive(line));
}
