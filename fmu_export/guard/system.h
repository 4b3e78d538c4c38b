/* What an FMU's library needs of the system: memory, files, texts, paths.
 *
 * On Windows it takes all of this from kernel32, without a C library: FMUs then need no run-time library, and building
 * one is quick.  Sources that somebody else compiles (SOURCE_FMU) have the C library there too.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(SOURCE_FMU)
#define WITHOUT_C_LIBRARY
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
#define GENERIC_READ 0x80000000u
enum { UTF8 = 65001, SHARED = 7, EXISTING = 3 };
enum { ZEROED = 8, WITH_ITS_FOLDER = 8, OF_ADDRESS = 4, NOT_COUNTED = 2, LONGEST = 2048 };
#endif

/* Memory full of zeros, or NULL. */
void *grab(size_t n);
void drop(void *memory);

/* The first bytes of a file, fewer than n, and a 0; how many, 0 if there is no such file.  Sources read none. */
size_t beginning(const char *file, char *into, size_t n);

size_t length(const char *text);
int same(const char *a, const char *b);
/* New memory, or NULL. */
char *copied(const char *text);
char *joined(const char *a, const char *b, const char *c);
/* How many bytes the character at the beginning takes in UTF-8 as Python reads it; 0 if there is none. */
int character(const char *text);
/* Whether it is UTF-8. */
int is_text(const char *text);

/* The path that a URI means (file:///a%20b, file://localhost/a, file:/a), in new memory; what is no URI is a path. */
char *path_of(const char *location);
/* Whether a location is a URI that names no file: http://… */
int is_elsewhere(const char *location);

/* For what instances share. */
void lock(void);
void unlock(void);

#endif
