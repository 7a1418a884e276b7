#!/usr/bin/env -S sonde -s
/*
 * Which exceptions a C++ program throws, and where: by the static probes that
 * libstdc++ has, and without frame pointers.
 *
 * Of the process of -c or -p alone, not of those that it starts.
 *
 * Run: sonde -s exceptions.d -c ./throws
 *
 * St13runtime_error
 *               libstdc++.so.6.0.30`__cxa_throw+0x11
 *               throws`check(int) [clone .cold]+0x35
 *               throws`main+0xae
 *                 1
 */

#pragma D option quiet

libstdcxx$target:::throw
{
        this->name = *(uintptr_t *)copyin(arg1 + sizeof (uintptr_t),
            sizeof (uintptr_t));
        @[copyinstr(this->name), ustack(6)] = count();
}
