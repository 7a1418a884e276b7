/* Closes a library and has memory of its own in the place of its code, then waits. The words: the library's path. It
   prints how many bytes of that memory are not as it has left them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *start;
static size_t size;

static int find(struct dl_phdr_info *object, size_t unused, void *path) {
    for (int i = 0; !strcmp(object->dlpi_name, path) && i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
            start = (char *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr & -4096L);
            size = object->dlpi_phdr[i].p_memsz + 4095 & -4096L;
        }
    return 0;
}

int main(int count, char **words) {
    int other = 0;
    char byte;
    void *library = dlopen(words[1], RTLD_NOW);
    int (*twice)(void) = dlsym(library, "twice");
    dl_iterate_phdr(find, words[1]);
    int sum = twice();
    dlclose(library);
    unsigned char *own = mmap(start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(own, 0xCC, size);
    printf("ready %d\n", sum);
    fflush(stdout);
    read(0, &byte, 1);
    for (size_t i = 0; i < size; i++)
        other += own[i] != 0xCC;
    printf("%d\n", other);
    return 0;
}
