/* See system.h. */
#include "system.h"

#include <stdatomic.h>
#ifndef WITHOUT_C_LIBRARY
#include <stdlib.h>
#ifndef SOURCE_FMU
#include <stdio.h>
#endif
#endif

/* ---- memory and files */

#ifdef WITHOUT_C_LIBRARY
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

void *grab(size_t n)
{
    return HeapAlloc(GetProcessHeap(), ZEROED, n);
}

void drop(void *memory)
{
    if (memory)
        HeapFree(GetProcessHeap(), 0, memory);
}

size_t beginning(const char *file, char *into, size_t n)
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
void *grab(size_t n)
{
    return calloc(1, n);
}

void drop(void *memory)
{
    free(memory);
}

#ifndef SOURCE_FMU
size_t beginning(const char *file, char *into, size_t n)
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
#endif

/* ---- texts */

size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

char *copied(const char *text)
{
    return joined(text, "", "");
}

char *joined(const char *a, const char *b, const char *c)
{
    char *all = grab(length(a) + length(b) + length(c) + 1), *into = all;
    const char *const parts[] = {a, b, c};
    for (int k = 0; all && k < 3; k++)
        for (const char *from = parts[k]; *from; from++)
            *into++ = *from;
    return all;
}

int character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    int more = *c < 0x80 ? 0 : *c >= 0xc2 && *c < 0xe0 ? 1 : (*c & 0xf0) == 0xe0 ? 2 : *c >= 0xf0 && *c < 0xf5 ? 3 : -1;
    /* too long for what they are, halves of pairs, beyond the last character */
    if (more < 0 || (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
        (*c == 0xf4 && c[1] > 0x8f))
        return 0;
    for (int k = 1; k <= more; k++)
        if ((c[k] & 0xc0) != 0x80)
            return 0;
    return more + 1;
}

int is_text(const char *text)
{
    for (int n; *text; text += n)
        if (!(n = character(text)))
            return 0;
    return 1;
}

/* ---- paths */

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *path_of(const char *location)
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

int is_elsewhere(const char *location)
{
    size_t n = 0;
    while ((location[n] >= 'a' && location[n] <= 'z') || (location[n] >= 'A' && location[n] <= 'Z') ||
           (n && ((location[n] >= '0' && location[n] <= '9') || location[n] == '+' || location[n] == '-' ||
                  location[n] == '.')))
        n++;
    /* a letter and a colon are a drive */
    if (n < 2 || location[n] != ':' || location[n + 1] != '/' || location[n + 2] != '/')
        return 0;
    const char *file = "file";
    for (size_t k = 0; k < 4 && n == 4; k++)
        if ((location[k] | 32) != file[k])
            return 1;
    return n != 4;
}

/* ---- what instances share */

static atomic_flag busy = ATOMIC_FLAG_INIT;

void lock(void)
{
    while (atomic_flag_test_and_set(&busy))
        ;
}

void unlock(void)
{
    atomic_flag_clear(&busy);
}

#if defined(_WIN32) && defined(__x86_64__)
/* Compilers call it where a function takes more than a page of the stack, %rax bytes: Windows gives a page only to who
 * has touched the one above it.  It keeps all registers. */
__asm__(".globl ___chkstk_ms\n"
        "___chkstk_ms:\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    leaq 24(%rsp), %rcx\n" /* where the stack of the caller ends */
        "1:  cmpq $4096, %rax\n"
        "    jbe 2f\n"
        "    subq $4096, %rcx\n"
        "    orq $0, (%rcx)\n"
        "    subq $4096, %rax\n"
        "    jmp 1b\n"
        "2:  subq %rax, %rcx\n"
        "    orq $0, (%rcx)\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    ret\n");
#endif
