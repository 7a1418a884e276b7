/* Preloaded: the process waits before main() and again at its end, then writes what it has in the code and data of its
   program and libraries to a file, and the list of its mappings. SEGMENTS has two descriptors, one to write to and one to read from, and the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ready, go;
static char path[4096], maps[1 << 16];

static void rest(char what) {
    char byte;
    if (write(ready, &what, 1) != 1 || read(go, &byte, 1) != 1)
        _exit(99);
}

__attribute__((constructor)) static void begin(void) {
    char *given = getenv("SEGMENTS");
    if (given && sscanf(given, "%d,%d,%4095s", &ready, &go, path) == 3)
        rest('b');
    unsetenv("LD_PRELOAD");
}

static void all(int file, const char *from, size_t size) {
    while (size) {
        ssize_t done = write(file, from, size);
        if (done <= 0)
            _exit(98);
        from += done;
        size -= done;
    }
}

static int to;
static unsigned long own;

/* Each as start, size and whether it is code, then its bytes. */
static int write_object(struct dl_phdr_info *object, size_t size, void *unused) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *each = object->dlpi_phdr + i;
        unsigned long head[3] = {object->dlpi_addr + each->p_vaddr, each->p_memsz, each->p_flags & PF_X};
        if (each->p_type != PT_LOAD || !(each->p_flags & (PF_X | PF_W)) || object->dlpi_addr == own)
            continue;
        all(to, (char *)head, sizeof head);
        all(to, (char *)head[0], head[1]);
    }
    return 0;
}

__attribute__((destructor)) static void end(void) {
    Dl_info here;
    if (!*path)
        return;
    rest('e');
    dladdr(&own, &here);
    own = (unsigned long)here.dli_fbase;
    int from = open("/proc/self/maps", O_RDONLY);
    to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dl_iterate_phdr(write_object, 0);
    unsigned long mark[3] = {0, 0, 0};
    all(to, (char *)mark, sizeof mark);
    ssize_t more;
    while ((more = read(from, maps, sizeof maps)) > 0)
        all(to, maps, more);
    close(to);
}
