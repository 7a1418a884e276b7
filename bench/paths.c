/*
 * Every path of a binary tree of calls is a stack of its own: the first argument is how many, the second how many
 * frames more each has.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 16

static long walk(unsigned path, int depth);

__attribute__((noinline)) static long left(unsigned path, int depth)
{
    return walk(path >> 1, depth - 1) + 1;
}

__attribute__((noinline)) static long right(unsigned path, int depth)
{
    return walk(path >> 1, depth - 1) + 2;
}

__attribute__((noinline)) static long walk(unsigned path, int depth)
{
    if (!depth)
        return syscall(SYS_getppid);
    return (path & 1 ? left(path, depth) : right(path, depth)) + 3;
}

__attribute__((noinline)) static long deeper(unsigned path, int more)
{
    return (more ? deeper(path, more - 1) : walk(path, DEPTH)) + 1;
}

int main(int count, char **words)
{
    unsigned paths = atoi(words[1]);

    for (unsigned path = 0; path < paths; path++)
        deeper(path, atoi(words[2]));
    return 0;
}
