#!/usr/bin/env -S sonde -s
/*
 * Bytes read and written, by process and file.
 *
 * The kernel's own functions are probed and not the system calls: whichever
 * call it was, and whoever opened the file, its name is a pointer away. Needs
 * a kernel that lets its functions be probed (sonde doctor: kprobe, fentry).
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s file-bytes.d            the whole system, until ^C
 *      sonde -s file-bytes.d -c 'sort -o sorted words'
 *
 * PROCESS          FILE                                     READ    WRITTEN
 * sort             words                                   98304          0
 * sort             sorted                                      0      98304
 */

#pragma D option quiet

fbt::vfs_read:entry, fbt::vfs_write:entry
/progenyof($target)/
{
        self->file = args->file;
}

fbt::vfs_read:return
/self->file && args[1] > 0/
{
        this->name = stringof(self->file->f_path.dentry->d_name.name);
        @read[execname, this->name] = sum(args[1]);
}

fbt::vfs_write:return
/self->file && args[1] > 0/
{
        this->name = stringof(self->file->f_path.dentry->d_name.name);
        @written[execname, this->name] = sum(args[1]);
}

fbt::vfs_read:return, fbt::vfs_write:return
{
        self->file = 0;
}

END
{
        printf("%-16s %-37s %10s %10s\n", "PROCESS", "FILE", "READ", "WRITTEN");
        printa("%-16s %-37s %@10d %@10d\n", @read, @written);
}
