#!/usr/bin/env -S sonde -s
/*
 * System calls as strace -f shows them: a line for each, when it has returned.
 *
 * A clause is a line of strace's: copy one into a script of your own, and
 * change what it shows.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s strace.d -xevaltime=exec -c 'ls /tmp'
 */

#pragma D option quiet
#pragma D option strsize=1024
#pragma D option bufsize=16m
#pragma D option nspec=1024
#pragma D option specsize=16k

syscall:::entry
/progenyof($target)/
{
	self->a0 = arg0;
	self->a1 = arg1;
	self->a2 = arg2;
	self->a3 = arg3;
	self->a4 = arg4;
	self->a5 = arg5;
	self->in = 1;
}

syscall:::return
/self->in/
{
	this->ret = arg1;
	this->ok = errno ? -1 : 0;
}

/* Processes */

/* A program that is replaced has no memory to look at any more: its line is made at the entry, and shown if it is. */

syscall::execve:entry
/self->in/
{
	self->line = speculation();
}

syscall::execve:entry
/self->in/
{
	speculate(self->line);
	printf("%-5d execve(%s, %s, %s) = 0\n", tid, memstr("path", arg0), memstr("argv", arg1), memstr("envp", arg2));
}

syscall::execve:return
/self->in && !this->ok/
{
	commit(self->line);
}

syscall::execve:return
/self->in && this->ok/
{
	discard(self->line);
}

syscall::execve:return
/self->in && this->ok/
{
	printf("%-5d execve(%s, %s, %s) = %s\n", tid, memstr("path", self->a0), memstr("argv", self->a1),
	    memstr("envp", self->a2), flagstr("result", this->ret));
}

syscall::exit:entry, syscall::exit_group:entry
/progenyof($target)/
{
	printf("%-5d %s(%d) = ?\n", tid, probefunc, (int)arg0);
}

syscall::getpid:return, syscall::getppid:return, syscall::gettid:return, syscall::getpgrp:return,
syscall::getuid:return, syscall::geteuid:return, syscall::getgid:return, syscall::getegid:return,
syscall::setsid:return, syscall::sched_yield:return, syscall::fork:return, syscall::vfork:return,
syscall::pause:return, syscall::sync:return
/self->in/
{
	printf("%-5d %s() = %s\n", tid, probefunc, flagstr("result", this->ret));
}

syscall::getpgid:return, syscall::getsid:return, syscall::setuid:return, syscall::setgid:return, syscall::alarm:return,
syscall::setfsuid:return, syscall::setfsgid:return, syscall::timer_delete:return, syscall::epoll_create:return,
syscall::close:return, syscall::fsync:return, syscall::fdatasync:return, syscall::fchdir:return, syscall::dup:return
/self->in/
{
	printf("%-5d %s(%d) = %s\n", tid, probefunc, (int)self->a0, flagstr("result", this->ret));
}

syscall::setpgid:return, syscall::setreuid:return, syscall::setregid:return, syscall::dup2:return,
syscall::listen:return, syscall::inotify_rm_watch:return
/self->in/
{
	printf("%-5d %s(%d, %d) = %s\n", tid, probefunc, (int)self->a0, (int)self->a1, flagstr("result", this->ret));
}

syscall::setresuid:return, syscall::setresgid:return, syscall::fchown:return
/self->in/
{
	printf("%-5d %s(%d, %d, %d) = %s\n", tid, probefunc, (int)self->a0, (int)self->a1, (int)self->a2,
	    flagstr("result", this->ret));
}

syscall::getresuid:return, syscall::getresgid:return
/self->in/
{
	printf("%-5d %s(%s, %s, %s) = %s\n", tid, probefunc, memstr("int", self->a0, this->ok ? -1 : 1),
	    memstr("int", self->a1, this->ok ? -1 : 1), memstr("int", self->a2, this->ok ? -1 : 1),
	    flagstr("result", this->ret));
}

syscall::getgroups:return
/self->in/
{
	printf("%-5d getgroups(%d, %s) = %s\n", tid, (int)self->a0, memstr("int", self->a1, self->a0 ? this->ret : 0),
	    flagstr("result", this->ret));
}

syscall::setgroups:return
/self->in/
{
	printf("%-5d setgroups(%d, %s) = %s\n", tid, (int)self->a0, memstr("int", self->a1, self->a0),
	    flagstr("result", this->ret));
}

syscall::getpriority:return
/self->in/
{
	printf("%-5d getpriority(%s, %d) = %s\n", tid, flagstr("priority", self->a0), (int)self->a1,
	    flagstr("result", this->ret));
}

syscall::setpriority:return
/self->in/
{
	printf("%-5d setpriority(%s, %d, %d) = %s\n", tid, flagstr("priority", self->a0), (int)self->a1, (int)self->a2,
	    flagstr("result", this->ret));
}

syscall::sysinfo:return
/self->in/
{
	printf("%-5d sysinfo(%s) = %s\n", tid, memstr("sysinfo", self->a0, this->ok), flagstr("result", this->ret));
}

syscall::unshare:return
/self->in/
{
	printf("%-5d unshare(%s) = %s\n", tid, flagstr("clone3", self->a0), flagstr("result", this->ret));
}

syscall::clone:return
/self->in/
{
	printf("%-5d clone(child_stack=%s, flags=%s", tid, flagstr("address", self->a1), flagstr("clone", self->a0));
	if (self->a0 & 0x180000) {
		printf(", parent_tid=%s, tls=%s", memstr("int", self->a2, this->ok ? -1 : 1), flagstr("address", self->a4));
	}
	if (self->a0 & 0x1200000) {
		printf(", child_tidptr=%s", flagstr("address", self->a3));
	}
	printf(") = %s\n", flagstr("result", this->ret));
}

syscall::clone3:return
/self->in && !this->ok && *(uint64_t *)copyin(self->a0, 8) & 0x100000/
{
	printf("%-5d clone3(%s => {parent_tid=%s}, %d) = %s\n", tid, memstr("clone_args", self->a0),
	    memstr("int", *(uint64_t *)copyin(self->a0 + 24, 8), 1), self->a1, flagstr("result", this->ret));
}

syscall::clone3:return
/self->in && (this->ok || !(*(uint64_t *)copyin(self->a0, 8) & 0x100000))/
{
	printf("%-5d clone3(%s, %d) = %s\n", tid, memstr("clone_args", self->a0), self->a1,
	    flagstr("result", this->ret));
}

syscall::wait4:return
/self->in/
{
	printf("%-5d wait4(%d, %s, %s, %s) = %s\n", tid, (int)self->a0,
	    memstr("wait_status", self->a1, this->ret > 0 ? 1 : -1), flagstr("wait", self->a2),
	    memstr("rusage", self->a3, this->ret > 0 ? 1 : -1), flagstr("result", this->ret));
}

syscall::kill:return, syscall::tkill:return
/self->in/
{
	printf("%-5d %s(%d, %s) = %s\n", tid, probefunc, (int)self->a0, flagstr("signal", self->a1),
	    flagstr("result", this->ret));
}

syscall::tgkill:return
/self->in/
{
	printf("%-5d tgkill(%d, %d, %s) = %s\n", tid, (int)self->a0, (int)self->a1, flagstr("signal", self->a2),
	    flagstr("result", this->ret));
}

/* Options without a value, with a number, with an address, and with what they alone have; all others take four. */

syscall::prctl:return
/self->in && self->a0 < 64 && 0x400048202088 >> self->a0 & 1/
{
	printf("%-5d prctl(%s) = %s%s\n", tid, flagstr("prctl", self->a0), flagstr("result", this->ret),
	    self->a0 != 3 || this->ok ? "" : this->ret == 1 ? " (SUID_DUMP_USER)" :
	    this->ret == 2 ? " (SUID_DUMP_ROOT)" : " (SUID_DUMP_DISABLE)");
}

syscall::prctl:return
/self->in && self->a0 == 38/
{
	printf("%-5d prctl(PR_SET_NO_NEW_PRIVS, %d, %s, %s, %s) = %s\n", tid, (uint64_t)self->a1,
	    flagstr("hex", self->a2), flagstr("hex", self->a3), flagstr("hex", self->a4), flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && self->a0 < 64 && 0x1020101500 >> self->a0 & 1/
{
	printf("%-5d prctl(%s, %d) = %s\n", tid, flagstr("prctl", self->a0), (uint64_t)self->a1,
	    flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && (self->a0 >= 64 || !(0x41706bf9bfbe >> self->a0 & 1))/
{
	printf("%-5d prctl(%s, %s, %s, %s, %s) = %s\n", tid, flagstr("prctl", self->a0), flagstr("hex", self->a1),
	    flagstr("hex", self->a2), flagstr("hex", self->a3), flagstr("hex", self->a4), flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && self->a0 < 64 && 0x12002490a34 >> self->a0 & 1/
{
	printf("%-5d prctl(%s, %s) = %s\n", tid, flagstr("prctl", self->a0), flagstr("address", self->a1),
	    flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && self->a0 == 1/
{
	printf("%-5d prctl(PR_SET_PDEATHSIG, %s) = %s\n", tid, flagstr("signal", self->a1),
	    flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && (self->a0 == 23 || self->a0 == 24)/
{
	printf("%-5d prctl(%s, %s) = %s\n", tid, flagstr("prctl", self->a0), flagstr("cap", self->a1),
	    flagstr("result", this->ret));
}

syscall::prctl:return
/self->in && self->a0 == 15/
{
	printf("%-5d prctl(PR_SET_NAME, %s) = %s\n", tid, memstr("string", self->a1), flagstr("result", this->ret));
}

syscall::arch_prctl:return
/self->in && self->a0 == 0x1003/
{
	printf("%-5d arch_prctl(ARCH_GET_FS, %s) = %s\n", tid, memstr("pointer", self->a1, this->ok ? -1 : 1),
	    flagstr("result", this->ret));
}

syscall::arch_prctl:return
/self->in && self->a0 != 0x1003/
{
	printf("%-5d arch_prctl(%s, %s) = %s\n", tid, flagstr("arch_prctl", self->a0), flagstr("address", self->a1),
	    flagstr("result", this->ret));
}

syscall::set_tid_address:return
/self->in/
{
	printf("%-5d set_tid_address(%s) = %s\n", tid, flagstr("address", self->a0), flagstr("result", this->ret));
}

syscall::set_robust_list:return
/self->in/
{
	printf("%-5d set_robust_list(%s, %d) = %s\n", tid, flagstr("address", self->a0), self->a1,
	    flagstr("result", this->ret));
}

syscall::rseq:return
/self->in/
{
	printf("%-5d rseq(%s, %s, %s, %s) = %s\n", tid, flagstr("address", self->a0), flagstr("hex", self->a1),
	    flagstr("hex", self->a2), flagstr("hex", self->a3), flagstr("result", this->ret));
}

syscall::prlimit64:return
/self->in/
{
	printf("%-5d prlimit64(%d, %s, %s, %s) = %s\n", tid, (int)self->a0, flagstr("rlimit", self->a1),
	    memstr("rlimit", self->a2), memstr("rlimit", self->a3, this->ok), flagstr("result", this->ret));
}

syscall::getrlimit:return
/self->in/
{
	printf("%-5d getrlimit(%s, %s) = %s\n", tid, flagstr("rlimit", self->a0),
	    memstr("rlimit", self->a1, this->ok), flagstr("result", this->ret));
}

syscall::getrusage:return
/self->in/
{
	printf("%-5d getrusage(%s, %s) = %s\n", tid, flagstr("rusage", self->a0),
	    memstr("rusage", self->a1, this->ok), flagstr("result", this->ret));
}

syscall::uname:return
/self->in/
{
	printf("%-5d uname(%s) = %s\n", tid, memstr("utsname", self->a0, this->ok), flagstr("result", this->ret));
}

syscall::sched_getaffinity:return
/self->in/
{
	printf("%-5d sched_getaffinity(%d, %d, %s) = %s\n", tid, (int)self->a0, self->a1,
	    memstr("cpu_set", self->a2, this->ret), flagstr("result", this->ret));
}

syscall::sched_setaffinity:return
/self->in/
{
	printf("%-5d sched_setaffinity(%d, %d, %s) = %s\n", tid, (int)self->a0, self->a1,
	    memstr("cpu_set", self->a2, self->a1), flagstr("result", this->ret));
}

syscall::sched_get_priority_max:return, syscall::sched_get_priority_min:return
/self->in/
{
	printf("%-5d %s(%s) = %s\n", tid, probefunc, flagstr("sched", self->a0), flagstr("result", this->ret));
}

syscall::waitid:return
/self->in/
{
	printf("%-5d waitid(%s, %d, %s, %s, %s) = %s\n", tid, flagstr("waitid", self->a0), (int)self->a1,
	    memstr("siginfo", self->a2, this->ok), flagstr("wait", self->a3),
	    memstr("rusage", self->a4, this->ok), flagstr("result", this->ret));
}

syscall::umask:return
/self->in/
{
	printf("%-5d umask(%s) = %s\n", tid, flagstr("permissions", self->a0), flagstr("result_umask", this->ret));
}

/* Memory */

syscall::brk:return
/self->in/
{
	printf("%-5d brk(%s) = %s\n", tid, flagstr("address", self->a0), flagstr("result_address", this->ret));
}

syscall::mmap:return
/self->in/
{
	printf("%-5d mmap(%s, %d, %s, %s, %d, %s) = %s\n", tid, flagstr("address", self->a0), self->a1,
	    flagstr("prot", self->a2), flagstr("map", self->a3), (int)self->a4, flagstr("hex", self->a5),
	    flagstr("result_address", this->ret));
}

syscall::mprotect:return
/self->in/
{
	printf("%-5d mprotect(%s, %d, %s) = %s\n", tid, flagstr("address", self->a0), self->a1,
	    flagstr("prot", self->a2), flagstr("result", this->ret));
}

syscall::munmap:return, syscall::mlock:return, syscall::munlock:return
/self->in/
{
	printf("%-5d %s(%s, %d) = %s\n", tid, probefunc, flagstr("address", self->a0), self->a1,
	    flagstr("result", this->ret));
}

syscall::mremap:return
/self->in && !(self->a3 & 2)/
{
	printf("%-5d mremap(%s, %d, %d, %s) = %s\n", tid, flagstr("address", self->a0), self->a1, self->a2,
	    flagstr("mremap", self->a3), flagstr("result_address", this->ret));
}

syscall::mremap:return
/self->in && self->a3 & 2/
{
	printf("%-5d mremap(%s, %d, %d, %s, %s) = %s\n", tid, flagstr("address", self->a0), self->a1, self->a2,
	    flagstr("mremap", self->a3), flagstr("address", self->a4), flagstr("result_address", this->ret));
}

syscall::madvise:return
/self->in/
{
	printf("%-5d madvise(%s, %d, %s) = %s\n", tid, flagstr("address", self->a0), self->a1,
	    flagstr("madvise", self->a2), flagstr("result", this->ret));
}

syscall::msync:return
/self->in/
{
	printf("%-5d msync(%s, %d, %s) = %s\n", tid, flagstr("address", self->a0), self->a1,
	    flagstr("msync", self->a2), flagstr("result", this->ret));
}

syscall::set_mempolicy:return
/self->in/
{
	printf("%-5d set_mempolicy(%s, %s, %d) = %s\n", tid, flagstr("mempolicy", self->a0),
	    memstr("nodemask", self->a1, (self->a2 + 62) / 64), self->a2, flagstr("result", this->ret));
}

syscall::get_mempolicy:return
/self->in/
{
	printf("%-5d get_mempolicy(%s, %s, %d, %s, %s) = %s\n", tid, memstr("mempolicy", self->a0, this->ok ? -1 : 1),
	    memstr("nodemask", self->a1, this->ok ? -1 : (self->a2 + 62) / 64), self->a2,
	    flagstr("address", self->a3), flagstr("get_mempolicy", self->a4), flagstr("result", this->ret));
}

syscall::memfd_create:return
/self->in/
{
	printf("%-5d memfd_create(%s, %s) = %s\n", tid, memstr("string", self->a0, 0, 249), flagstr("memfd", self->a1),
	    flagstr("result", this->ret));
}

/* Files by name */

syscall::open:return
/self->in && !(self->a1 & 0x40) && (self->a1 & 0x410000) != 0x410000/
{
	printf("%-5d open(%s, %s) = %s\n", tid, memstr("path", self->a0), flagstr("open", self->a1),
	    flagstr("result", this->ret));
}

syscall::open:return
/self->in && (self->a1 & 0x40 || (self->a1 & 0x410000) == 0x410000)/
{
	printf("%-5d open(%s, %s, %s) = %s\n", tid, memstr("path", self->a0), flagstr("open", self->a1),
	    flagstr("permissions", self->a2), flagstr("result", this->ret));
}

syscall::openat:return
/self->in && !(self->a2 & 0x40) && (self->a2 & 0x410000) != 0x410000/
{
	printf("%-5d openat(%s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("open", self->a2), flagstr("result", this->ret));
}

syscall::openat:return
/self->in && (self->a2 & 0x40 || (self->a2 & 0x410000) == 0x410000)/
{
	printf("%-5d openat(%s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("open", self->a2), flagstr("permissions", self->a3), flagstr("result", this->ret));
}

syscall::stat:return
/self->in/
{
	printf("%-5d stat(%s, %s) = %s\n", tid, memstr("path", self->a0), memstr("stat", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::lstat:return
/self->in/
{
	printf("%-5d lstat(%s, %s) = %s\n", tid, memstr("path", self->a0), memstr("stat", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::newfstatat:return
/self->in/
{
	printf("%-5d newfstatat(%s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    memstr("stat", self->a2, this->ok), flagstr("at", self->a3), flagstr("result", this->ret));
}

syscall::statx:return
/self->in/
{
	printf("%-5d statx(%s, %s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("statx_at", self->a2), flagstr("statx", self->a3), memstr("statx", self->a4, this->ok),
	    flagstr("result", this->ret));
}

syscall::statfs:return
/self->in/
{
	printf("%-5d statfs(%s, %s) = %s\n", tid, memstr("path", self->a0), memstr("statfs", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::access:return
/self->in/
{
	printf("%-5d access(%s, %s) = %s\n", tid, memstr("path", self->a0), flagstr("access", self->a1),
	    flagstr("result", this->ret));
}

syscall::faccessat:return
/self->in/
{
	printf("%-5d faccessat(%s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("access", self->a2), flagstr("result", this->ret));
}

syscall::faccessat2:return
/self->in/
{
	printf("%-5d faccessat2(%s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("access", self->a2), flagstr("faccessat", self->a3), flagstr("result", this->ret));
}

syscall::chdir:return, syscall::rmdir:return, syscall::unlink:return, syscall::chroot:return
/self->in/
{
	printf("%-5d %s(%s) = %s\n", tid, probefunc, memstr("path", self->a0), flagstr("result", this->ret));
}

syscall::mkdir:return, syscall::chmod:return, syscall::creat:return
/self->in/
{
	printf("%-5d %s(%s, %s) = %s\n", tid, probefunc, memstr("path", self->a0),
	    flagstr("permissions", self->a1), flagstr("result", this->ret));
}

syscall::mkdirat:return, syscall::fchmodat:return
/self->in/
{
	printf("%-5d %s(%s, %s, %s) = %s\n", tid, probefunc, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("permissions", self->a2), flagstr("result", this->ret));
}

syscall::rename:return, syscall::link:return, syscall::symlink:return
/self->in/
{
	printf("%-5d %s(%s, %s) = %s\n", tid, probefunc, memstr("path", self->a0), memstr("path", self->a1),
	    flagstr("result", this->ret));
}

syscall::renameat:return
/self->in/
{
	printf("%-5d renameat(%s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("dirfd", self->a2), memstr("path", self->a3), flagstr("result", this->ret));
}

syscall::renameat2:return
/self->in/
{
	printf("%-5d renameat2(%s, %s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("dirfd", self->a2), memstr("path", self->a3), flagstr("renameat2", self->a4),
	    flagstr("result", this->ret));
}

syscall::linkat:return
/self->in/
{
	printf("%-5d linkat(%s, %s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("dirfd", self->a2), memstr("path", self->a3), flagstr("at", self->a4),
	    flagstr("result", this->ret));
}

syscall::symlinkat:return
/self->in/
{
	printf("%-5d symlinkat(%s, %s, %s) = %s\n", tid, memstr("path", self->a0), flagstr("dirfd", self->a1),
	    memstr("path", self->a2), flagstr("result", this->ret));
}

syscall::unlinkat:return
/self->in/
{
	printf("%-5d unlinkat(%s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    flagstr("at", self->a2), flagstr("result", this->ret));
}

syscall::readlink:return
/self->in/
{
	printf("%-5d readlink(%s, %s, %d) = %s\n", tid, memstr("path", self->a0), memstr("data", self->a1, this->ret),
	    self->a2, flagstr("result", this->ret));
}

syscall::readlinkat:return
/self->in/
{
	printf("%-5d readlinkat(%s, %s, %s, %d) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    memstr("data", self->a2, this->ret), self->a3, flagstr("result", this->ret));
}

syscall::chown:return, syscall::lchown:return
/self->in/
{
	printf("%-5d %s(%s, %d, %d) = %s\n", tid, probefunc, memstr("path", self->a0), (int)self->a1, (int)self->a2,
	    flagstr("result", this->ret));
}

syscall::fchownat:return
/self->in/
{
	printf("%-5d fchownat(%s, %s, %d, %d, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    (int)self->a2, (int)self->a3, flagstr("at", self->a4), flagstr("result", this->ret));
}

syscall::utimensat:return
/self->in/
{
	printf("%-5d utimensat(%s, %s, %s, %s) = %s\n", tid, flagstr("dirfd", self->a0), memstr("path", self->a1),
	    memstr("file_time", self->a2, 2), flagstr("at", self->a3), flagstr("result", this->ret));
}

syscall::getxattr:return, syscall::lgetxattr:return
/self->in/
{
	printf("%-5d %s(%s, %s, %s, %d) = %s\n", tid, probefunc, memstr("path", self->a0),
	    memstr("string", self->a1, 0, 255), memstr("data", self->a2, this->ret), self->a3,
	    flagstr("result", this->ret));
}

syscall::fgetxattr:return
/self->in/
{
	printf("%-5d fgetxattr(%d, %s, %s, %d) = %s\n", tid, (int)self->a0, memstr("string", self->a1, 0, 255),
	    memstr("data", self->a2, this->ret), self->a3, flagstr("result", this->ret));
}

syscall::setxattr:return, syscall::lsetxattr:return
/self->in/
{
	printf("%-5d %s(%s, %s, %s, %d, %s) = %s\n", tid, probefunc, memstr("path", self->a0),
	    memstr("string", self->a1, 0, 255), memstr("data", self->a2, self->a3), self->a3,
	    flagstr("xattr", self->a4), flagstr("result", this->ret));
}

syscall::fsetxattr:return
/self->in/
{
	printf("%-5d fsetxattr(%d, %s, %s, %d, %s) = %s\n", tid, (int)self->a0, memstr("string", self->a1, 0, 255),
	    memstr("data", self->a2, self->a3), self->a3, flagstr("xattr", self->a4), flagstr("result", this->ret));
}

syscall::listxattr:return, syscall::llistxattr:return
/self->in/
{
	printf("%-5d %s(%s, %s, %d) = %s\n", tid, probefunc, memstr("path", self->a0),
	    memstr("data", self->a1, self->a2 ? this->ret : -1), self->a2, flagstr("result", this->ret));
}

syscall::flistxattr:return
/self->in/
{
	printf("%-5d flistxattr(%d, %s, %d) = %s\n", tid, (int)self->a0,
	    memstr("data", self->a1, self->a2 ? this->ret : -1), self->a2, flagstr("result", this->ret));
}

syscall::removexattr:return, syscall::lremovexattr:return
/self->in/
{
	printf("%-5d %s(%s, %s) = %s\n", tid, probefunc, memstr("path", self->a0), memstr("string", self->a1, 0, 255),
	    flagstr("result", this->ret));
}

syscall::truncate:return
/self->in/
{
	printf("%-5d truncate(%s, %d) = %s\n", tid, memstr("path", self->a0), self->a1, flagstr("result", this->ret));
}

syscall::getcwd:return
/self->in/
{
	printf("%-5d getcwd(%s, %d) = %s\n", tid, memstr("path", self->a0, this->ok), self->a1,
	    flagstr("result", this->ret));
}

/* Descriptors */

syscall::read:return
/self->in/
{
	printf("%-5d read(%d, %s, %d) = %s\n", tid, (int)self->a0, memstr("data", self->a1, this->ret), self->a2,
	    flagstr("result", this->ret));
}

syscall::write:return
/self->in/
{
	printf("%-5d write(%d, %s, %d) = %s\n", tid, (int)self->a0, memstr("data", self->a1, self->a2), self->a2,
	    flagstr("result", this->ret));
}

syscall::pread64:return
/self->in/
{
	printf("%-5d pread64(%d, %s, %d, %d) = %s\n", tid, (int)self->a0, memstr("data", self->a1, this->ret),
	    self->a2, self->a3, flagstr("result", this->ret));
}

syscall::pwrite64:return
/self->in/
{
	printf("%-5d pwrite64(%d, %s, %d, %d) = %s\n", tid, (int)self->a0, memstr("data", self->a1, self->a2),
	    self->a2, self->a3, flagstr("result", this->ret));
}

syscall::readv:return
/self->in/
{
	printf("%-5d readv(%d, %s, %d) = %s\n", tid, (int)self->a0,
	    memstr("iovec", self->a1, self->a2, this->ret), self->a2, flagstr("result", this->ret));
}

syscall::writev:return
/self->in/
{
	printf("%-5d writev(%d, %s, %d) = %s\n", tid, (int)self->a0, memstr("iovec", self->a1, self->a2), self->a2,
	    flagstr("result", this->ret));
}

syscall::fstat:return
/self->in/
{
	printf("%-5d fstat(%d, %s) = %s\n", tid, (int)self->a0, memstr("stat", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::fstatfs:return
/self->in/
{
	printf("%-5d fstatfs(%d, %s) = %s\n", tid, (int)self->a0, memstr("statfs", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::lseek:return
/self->in/
{
	printf("%-5d lseek(%d, %d, %s) = %s\n", tid, (int)self->a0, self->a1, flagstr("seek", self->a2),
	    flagstr("result", this->ret));
}

syscall::close_range:return
/self->in/
{
	printf("%-5d close_range(%d, %d, %s) = %s\n", tid, (uint32_t)self->a0, (uint32_t)self->a1,
	    flagstr("close_range", self->a2), flagstr("result", this->ret));
}

syscall::fallocate:return
/self->in/
{
	printf("%-5d fallocate(%d, %s, %d, %d) = %s\n", tid, (int)self->a0, flagstr("fallocate", self->a1), self->a2,
	    self->a3, flagstr("result", this->ret));
}

syscall::dup3:return
/self->in/
{
	printf("%-5d dup3(%d, %d, %s) = %s\n", tid, (int)self->a0, (int)self->a1, flagstr("open_flags", self->a2),
	    flagstr("result", this->ret));
}

syscall::pipe:return
/self->in/
{
	printf("%-5d pipe(%s) = %s\n", tid, memstr("int", self->a0, this->ok ? -1 : 2), flagstr("result", this->ret));
}

syscall::pipe2:return
/self->in/
{
	printf("%-5d pipe2(%s, %s) = %s\n", tid, memstr("int", self->a0, this->ok ? -1 : 2),
	    flagstr("open_flags", self->a1), flagstr("result", this->ret));
}

syscall::ftruncate:return
/self->in/
{
	printf("%-5d ftruncate(%d, %d) = %s\n", tid, (int)self->a0, (uint64_t)self->a1, flagstr("result", this->ret));
}

syscall::fchmod:return
/self->in/
{
	printf("%-5d fchmod(%d, %s) = %s\n", tid, (int)self->a0, flagstr("permissions", self->a1),
	    flagstr("result", this->ret));
}

syscall::flock:return
/self->in/
{
	printf("%-5d flock(%d, %s) = %s\n", tid, (int)self->a0, flagstr("flock", self->a1),
	    flagstr("result", this->ret));
}

syscall::fadvise64:return
/self->in/
{
	printf("%-5d fadvise64(%d, %d, %d, %s) = %s\n", tid, (int)self->a0, self->a1, self->a2,
	    flagstr("fadvise", self->a3), flagstr("result", this->ret));
}

syscall::getdents64:return
/self->in && this->ret >= 0/
{
	this->at = 0;
	this->n = 0;
	this->length = (uint16_t *)alloca(2);
	while (this->at < this->ret) {
		copyinto(self->a1 + this->at + 16, 2, this->length);
		this->at += *this->length;
		this->n++;
	}
	printf("%-5d getdents64(%d, %s /* %d entries */, %d) = %s\n", tid, (int)self->a0,
	    flagstr("address", self->a1), this->n, self->a2, flagstr("result", this->ret));
}

syscall::getdents64:return
/self->in && this->ret < 0/
{
	printf("%-5d getdents64(%d, %s, %d) = %s\n", tid, (int)self->a0, flagstr("address", self->a1), self->a2,
	    flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && (self->a1 == 9 || self->a1 == 1032)/
{
	printf("%-5d fcntl(%d, %s) = %s\n", tid, (int)self->a0, flagstr("fcntl", self->a1), flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && (self->a1 == 1 || self->a1 == 1034)/
{
	printf("%-5d fcntl(%d, %s) = %s\n", tid, (int)self->a0, flagstr("fcntl", self->a1),
	    flagstr("result_fd", this->ret));
}

syscall::fcntl:return
/self->in && self->a1 == 3/
{
	printf("%-5d fcntl(%d, F_GETFL) = %s\n", tid, (int)self->a0, flagstr("result_open", this->ret));
}

syscall::fcntl:return
/self->in && self->a1 == 2/
{
	printf("%-5d fcntl(%d, F_SETFD, %s) = %s\n", tid, (int)self->a0, flagstr("fd", self->a2),
	    flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && self->a1 == 4/
{
	printf("%-5d fcntl(%d, F_SETFL, %s) = %s\n", tid, (int)self->a0, flagstr("open", self->a2),
	    flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && self->a1 == 5/
{
	printf("%-5d fcntl(%d, F_GETLK, %s) = %s\n", tid, (int)self->a0, memstr("flock_found", self->a2),
	    flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && (self->a1 == 6 || self->a1 == 7)/
{
	printf("%-5d fcntl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("fcntl", self->a1),
	    memstr("flock", self->a2), flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && (self->a1 == 15 || self->a1 == 16)/
{
	printf("%-5d fcntl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("fcntl", self->a1),
	    memstr("file_owner", self->a2, self->a1 == 15 ? 0 : this->ok), flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && self->a1 == 1033/
{
	printf("%-5d fcntl(%d, F_ADD_SEALS, %s) = %s\n", tid, (int)self->a0, flagstr("seals", self->a2),
	    flagstr("result", this->ret));
}

syscall::fcntl:return
/self->in && (self->a1 == 0 || self->a1 == 8 || (self->a1 > 9 && self->a1 < 1032 && self->a1 != 15 && self->a1 != 16)
    || self->a1 == 1031 || self->a1 > 1034)/
{
	printf("%-5d fcntl(%d, %s, %d) = %s\n", tid, (int)self->a0, flagstr("fcntl", self->a1), self->a2,
	    flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && self->a1 == 0x5413/
{
	printf("%-5d ioctl(%d, TIOCGWINSZ, %s) = %s\n", tid, (int)self->a0, memstr("winsize", self->a2, this->ok),
	    flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && (self->a1 == 0x541b || self->a1 == 0x5421 || self->a1 == 0x540f || self->a1 == 0x80045430)/
{
	printf("%-5d ioctl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1),
	    memstr("int", self->a2, this->ok ? -1 : 1), flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && (self->a1 == 0x5410 || self->a1 == 0x40045431)/
{
	printf("%-5d ioctl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1),
	    memstr("int", self->a2, 1), flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && self->a1 >= 0x5401 && self->a1 <= 0x5404/
{
	printf("%-5d ioctl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1),
	    memstr("termios", self->a2, self->a1 == 0x5401 ? this->ok : 0), flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && (self->a1 == 0x40049409 || self->a1 == 0x540e)/
{
	printf("%-5d ioctl(%d, %s, %d) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1), (int)self->a2,
	    flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && (self->a1 == 0x5450 || self->a1 == 0x5451)/
{
	printf("%-5d ioctl(%d, %s) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1),
	    flagstr("result", this->ret));
}

syscall::ioctl:return
/self->in && self->a1 != 0x5413 && self->a1 != 0x541b && self->a1 != 0x5421 && self->a1 != 0x540f
    && self->a1 != 0x5450 && self->a1 != 0x5451 && self->a1 != 0x40049409 && self->a1 != 0x540e
    && self->a1 != 0x5410 && self->a1 != 0x40045431 && self->a1 != 0x80045430
    && (self->a1 < 0x5401 || self->a1 > 0x5404)/
{
	printf("%-5d ioctl(%d, %s, %s) = %s\n", tid, (int)self->a0, flagstr("ioctl", self->a1),
	    flagstr("address", self->a2), flagstr("result", this->ret));
}

syscall::sendfile:return
/self->in/
{
	printf("%-5d sendfile(%d, %d, %s, %d) = %s\n", tid, (int)self->a0, (int)self->a1, flagstr("address", self->a2),
	    self->a3, flagstr("result", this->ret));
}

syscall::copy_file_range:return
/self->in/
{
	printf("%-5d copy_file_range(%d, %s, %d, %s, %d, %d) = %s\n", tid, (int)self->a0,
	    flagstr("address", self->a1), (int)self->a2, flagstr("address", self->a3), self->a4, (int)self->a5,
	    flagstr("result", this->ret));
}

/* Signals */

syscall::rt_sigaction:return
/self->in/
{
	printf("%-5d rt_sigaction(%s, %s, %s, %d) = %s\n", tid, flagstr("signal", self->a0),
	    memstr("sigaction", self->a1), memstr("sigaction", self->a2, this->ok), self->a3,
	    flagstr("result", this->ret));
}

syscall::rt_sigprocmask:return
/self->in/
{
	printf("%-5d rt_sigprocmask(%s, %s, %s, %d) = %s\n", tid, flagstr("sigprocmask", self->a0),
	    memstr("sigset", self->a1), memstr("sigset", self->a2, this->ok), self->a3, flagstr("result", this->ret));
}

syscall::rt_sigsuspend:return
/self->in/
{
	printf("%-5d rt_sigsuspend(%s, %d) = %s\n", tid, memstr("sigset", self->a0), self->a1,
	    flagstr("result", this->ret));
}

/* It does not return: what was saved on the stack when the signal came is told, the mask and the register of results. */

syscall::rt_sigreturn:entry
/self->in/
{
	printf("%-5d rt_sigreturn({mask=%s}) = %s\n", tid, memstr("sigset", uregs[R_SP] + 296),
	    flagstr("result", *(int64_t *)copyin(uregs[R_SP] + 144, 8)));
}

syscall::sigaltstack:return
/self->in/
{
	printf("%-5d sigaltstack(%s, %s) = %s\n", tid, memstr("stack", self->a0), memstr("stack", self->a1, this->ok),
	    flagstr("result", this->ret));
}

/* Time */

syscall::nanosleep:return
/self->in/
{
	printf("%-5d nanosleep(%s, %s) = %s\n", tid, memstr("timespec", self->a0),
	    memstr("timespec", self->a1, errno == EINTR ? 0 : -1), flagstr("result", this->ret));
}

syscall::clock_nanosleep:return
/self->in/
{
	printf("%-5d clock_nanosleep(%s, %s, %s, %s) = %s\n", tid, flagstr("clock", self->a0),
	    flagstr("clock_nanosleep", self->a1), memstr("timespec", self->a2),
	    memstr("timespec", self->a3, errno == EINTR ? 0 : -1), flagstr("result", this->ret));
}

syscall::clock_gettime:return, syscall::clock_getres:return
/self->in/
{
	printf("%-5d %s(%s, %s) = %s\n", tid, probefunc, flagstr("clock", self->a0),
	    memstr("timespec", self->a1, this->ok), flagstr("result", this->ret));
}

syscall::setitimer:return
/self->in/
{
	printf("%-5d setitimer(%s, %s, %s) = %s\n", tid, flagstr("itimer", self->a0), memstr("itimerval", self->a1),
	    memstr("itimerval", self->a2, this->ok), flagstr("result", this->ret));
}

syscall::timer_create:return
/self->in/
{
	printf("%-5d timer_create(%s, %s, %s) = %s\n", tid, flagstr("clock", self->a0), memstr("sigevent", self->a1),
	    memstr("int", self->a2, this->ok ? -1 : 1), flagstr("result", this->ret));
}

syscall::timer_settime:return
/self->in/
{
	printf("%-5d timer_settime(%d, %s, %s, %s) = %s\n", tid, (int)self->a0, flagstr("clock_nanosleep", self->a1),
	    memstr("itimerspec", self->a2), memstr("itimerspec", self->a3, this->ok), flagstr("result", this->ret));
}

syscall::timer_gettime:return
/self->in/
{
	printf("%-5d timer_gettime(%d, %s) = %s\n", tid, (int)self->a0, memstr("itimerspec", self->a1, this->ok),
	    flagstr("result", this->ret));
}

syscall::timerfd_create:return
/self->in/
{
	printf("%-5d timerfd_create(%s, %s) = %s\n", tid, flagstr("clock", self->a0), flagstr("timerfd", self->a1),
	    flagstr("result", this->ret));
}

syscall::timerfd_settime:return
/self->in/
{
	printf("%-5d timerfd_settime(%d, %s, %s, %s) = %s\n", tid, (int)self->a0,
	    flagstr("timerfd_settime", self->a1), memstr("itimerspec", self->a2),
	    memstr("itimerspec", self->a3, this->ok), flagstr("result", this->ret));
}

syscall::getrandom:return
/self->in/
{
	printf("%-5d getrandom(%s, %d, %s) = %s\n", tid, memstr("bytes", self->a0, this->ret), self->a1,
	    flagstr("getrandom", self->a2), flagstr("result", this->ret));
}

/* Waiting */

syscall::poll:return
/self->in/
{
	printf("%-5d poll(%s, %d, %d) = %s", tid, memstr("pollfd", self->a0, self->a1), self->a1, (int)self->a2,
	    flagstr("result", this->ret));
	if (this->ret > 0) {
		printf(" (%s)", memstr("pollfd_returned", self->a0, self->a1));
	}
	printf("%s", this->ret ? "\n" : " (Timeout)\n");
}

syscall::ppoll:entry
/self->in && self->a2/
{
	self->seconds = *(int64_t *)copyin(self->a2, 8);
	self->fraction = *(int64_t *)copyin(self->a2 + 8, 8);
}

syscall::ppoll:return
/self->in/
{
	printf("%-5d ppoll(%s, %d", tid, memstr("pollfd", self->a0, self->a1), self->a1);
	if (self->a2) {
		printf(", {tv_sec=%d, tv_nsec=%d}", self->seconds, self->fraction);
	} else {
		printf(", NULL");
	}
	printf(", %s, %d) = %s", memstr("sigset", self->a3), self->a4, flagstr("result", this->ret));
	if (this->ret > 0) {
		printf(" (%s", memstr("pollfd_returned", self->a0, self->a1));
		if (self->a2) {
			printf(", left %s", memstr("timespec", self->a2));
		}
		printf(")");
	}
	printf("%s", this->ret ? "\n" : " (Timeout)\n");
}

/* The kernel writes over the sets: what they were is kept from the entry. */

syscall::select:entry, syscall::pselect6:entry
/self->in/
{
	self->in_set = arg1 ? *(uint64_t *)copyin(arg1, 8) : 0;
	self->out_set = arg2 ? *(uint64_t *)copyin(arg2, 8) : 0;
	self->except_set = arg3 ? *(uint64_t *)copyin(arg3, 8) : 0;
	self->seconds = arg4 ? *(int64_t *)copyin(arg4, 8) : 0;
	self->fraction = arg4 ? *(int64_t *)copyin(arg4 + 8, 8) : 0;
}

syscall::select:return, syscall::pselect6:return
/self->in/
{
	printf("%-5d %s(%d", tid, probefunc, (int)self->a0);
	if (self->a1) {
		printf(", %s", flagstr("fd_set", self->in_set));
	} else {
		printf(", NULL");
	}
	if (self->a2) {
		printf(", %s", flagstr("fd_set", self->out_set));
	} else {
		printf(", NULL");
	}
	if (self->a3) {
		printf(", %s", flagstr("fd_set", self->except_set));
	} else {
		printf(", NULL");
	}
	if (self->a4) {
		printf(", {tv_sec=%d, %s=%d}", self->seconds, probefunc == "select" ? "tv_usec" : "tv_nsec", self->fraction);
	} else {
		printf(", NULL");
	}
}

syscall::pselect6:return
/self->in/
{
	if (self->a5) {
		this->m = (uint64_t *)copyin(self->a5, 16);
		printf(", {sigmask=%s, sigsetsize=%d}", memstr("sigset", this->m[0]), this->m[1]);
	} else {
		printf(", NULL");
	}
}

syscall::select:return, syscall::pselect6:return
/self->in/
{
	printf(") = %s%s", flagstr("result", this->ret), this->ret > 0 ? " (" : this->ret ? "\n" : " (Timeout)\n");
	this->separator = "";
}

syscall::select:return, syscall::pselect6:return
/self->in && this->ret > 0/
{
	this->set = self->a1 ? *(uint64_t *)copyin(self->a1, 8) : 0;
	if (this->set) {
		printf("in %s", flagstr("fd_set", this->set));
		this->separator = ", ";
	}
	this->set = self->a2 ? *(uint64_t *)copyin(self->a2, 8) : 0;
	if (this->set) {
		printf("%sout %s", this->separator, flagstr("fd_set", this->set));
		this->separator = ", ";
	}
	this->set = self->a3 ? *(uint64_t *)copyin(self->a3, 8) : 0;
	if (this->set) {
		printf("%sexcept %s", this->separator, flagstr("fd_set", this->set));
		this->separator = ", ";
	}
	if (self->a4 && probefunc == "select") {
		printf("%sleft %s", this->separator, memstr("timeval", self->a4));
	} else if (self->a4) {
		printf("%sleft %s", this->separator, memstr("timespec", self->a4));
	}
	printf(")\n");
}

syscall::epoll_create1:return
/self->in/
{
	printf("%-5d epoll_create1(%s) = %s\n", tid, flagstr("epoll_create", self->a0), flagstr("result", this->ret));
}

syscall::epoll_ctl:return
/self->in/
{
	printf("%-5d epoll_ctl(%d, %s, %d, %s) = %s\n", tid, (int)self->a0, flagstr("epoll_ctl", self->a1),
	    (int)self->a2, memstr("epoll_change", self->a3, self->a1 == 2 ? -1 : 0), flagstr("result", this->ret));
}

syscall::epoll_wait:return
/self->in/
{
	printf("%-5d epoll_wait(%d, %s, %d, %d) = %s\n", tid, (int)self->a0,
	    memstr("epoll_event", self->a1, this->ret), (int)self->a2, (int)self->a3, flagstr("result", this->ret));
}

syscall::epoll_pwait:return
/self->in/
{
	printf("%-5d epoll_pwait(%d, %s, %d, %d, %s, %d) = %s\n", tid, (int)self->a0,
	    memstr("epoll_event", self->a1, this->ret), (int)self->a2, (int)self->a3, memstr("sigset", self->a4),
	    self->a5, flagstr("result", this->ret));
}

syscall::eventfd2:return
/self->in/
{
	printf("%-5d eventfd2(%d, %s) = %s\n", tid, (int)self->a0, flagstr("eventfd", self->a1),
	    flagstr("result", this->ret));
}

syscall::signalfd4:return
/self->in/
{
	printf("%-5d signalfd4(%d, %s, %d, %s) = %s\n", tid, (int)self->a0, memstr("sigset", self->a1), self->a2,
	    flagstr("signalfd", self->a3), flagstr("result", this->ret));
}

syscall::inotify_init1:return
/self->in/
{
	printf("%-5d inotify_init1(%s) = %s\n", tid, flagstr("inotify_init", self->a0), flagstr("result", this->ret));
}

syscall::inotify_add_watch:return
/self->in/
{
	printf("%-5d inotify_add_watch(%d, %s, %s) = %s\n", tid, (int)self->a0, memstr("path", self->a1),
	    flagstr("inotify", self->a2), flagstr("result", this->ret));
}

syscall::futex:return
/self->in && ((self->a1 & 127) == 1 || (self->a1 & 127) == 7)/
{
	printf("%-5d futex(%s, %s, %d) = %s\n", tid, flagstr("address", self->a0), flagstr("futex", self->a1),
	    (int)self->a2, flagstr("result", this->ret));
}

syscall::futex:return
/self->in && (self->a1 & 127) == 0/
{
	printf("%-5d futex(%s, %s, %d, %s) = %s\n", tid, flagstr("address", self->a0), flagstr("futex", self->a1),
	    (uint32_t)self->a2, memstr("timespec", self->a3), flagstr("result", this->ret));
}

syscall::futex:return
/self->in && (self->a1 & 127) == 9/
{
	printf("%-5d futex(%s, %s, %d, %s, %s) = %s\n", tid, flagstr("address", self->a0), flagstr("futex", self->a1),
	    (uint32_t)self->a2, memstr("timespec", self->a3), flagstr("futex_bits", self->a5),
	    flagstr("result", this->ret));
}

/* Sockets */

syscall::socket:return
/self->in && (self->a0 == 2 || self->a0 == 10)/
{
	printf("%-5d socket(%s, %s, %s) = %s\n", tid, flagstr("af", self->a0), flagstr("sock", self->a1),
	    flagstr("ipproto", self->a2), flagstr("result", this->ret));
}

syscall::socket:return
/self->in && self->a0 == 16/
{
	printf("%-5d socket(%s, %s, %s) = %s\n", tid, flagstr("af", self->a0), flagstr("sock", self->a1),
	    flagstr("netlink", self->a2), flagstr("result", this->ret));
}

syscall::socket:return
/self->in && self->a0 != 2 && self->a0 != 10 && self->a0 != 16 && self->a0 != 17/
{
	printf("%-5d socket(%s, %s, %d) = %s\n", tid, flagstr("af", self->a0), flagstr("sock", self->a1),
	    (int)self->a2, flagstr("result", this->ret));
}

syscall::socket:return
/self->in && self->a0 == 17/
{
	printf("%-5d socket(%s, %s, %s) = %s\n", tid, flagstr("af", self->a0), flagstr("sock", self->a1),
	    flagstr("ethertype", self->a2), flagstr("result", this->ret));
}

syscall::socketpair:return
/self->in/
{
	printf("%-5d socketpair(%s, %s, %d, %s) = %s\n", tid, flagstr("af", self->a0), flagstr("sock", self->a1),
	    (int)self->a2, memstr("int", self->a3, this->ok ? -1 : 2), flagstr("result", this->ret));
}

syscall::connect:return, syscall::bind:return
/self->in/
{
	printf("%-5d %s(%d, %s, %d) = %s\n", tid, probefunc, (int)self->a0, memstr("sockaddr", self->a1, self->a2),
	    (int)self->a2, flagstr("result", this->ret));
}

syscall::shutdown:return
/self->in/
{
	printf("%-5d shutdown(%d, %s) = %s\n", tid, (int)self->a0, flagstr("shutdown", self->a1),
	    flagstr("result", this->ret));
}

syscall::accept:entry, syscall::accept4:entry, syscall::getsockname:entry, syscall::getpeername:entry
/self->in && self->a2/
{
	self->room = *(int *)copyin(arg2, 4);
}

syscall::accept:return, syscall::accept4:return, syscall::getsockname:return, syscall::getpeername:return
/self->in/
{
	if (!this->ok && self->a2) {
		this->size = *(int *)copyin(self->a2, 4);
		printf("%-5d %s(%d, %s, [%d", tid, probefunc, (int)self->a0,
		    memstr("sockaddr", self->a1, this->size < self->room ? this->size : self->room), self->room);
		if (this->size != self->room) {
			printf(" => %d", this->size);
		}
		printf("]");
	} else {
		printf("%-5d %s(%d, %s, %s", tid, probefunc, (int)self->a0, flagstr("address", self->a1),
		    memstr("int", self->a2, 1));
	}
}

syscall::accept4:return
/self->in/
{
	printf(", %s", flagstr("sock_flags", self->a3));
}

syscall::accept:return, syscall::accept4:return, syscall::getsockname:return, syscall::getpeername:return
/self->in/
{
	printf(") = %s\n", flagstr("result", this->ret));
}

syscall::sendto:return
/self->in/
{
	printf("%-5d sendto(%d, %s, %d, %s, %s, %d) = %s\n", tid, (int)self->a0, memstr("data", self->a1, self->a2),
	    self->a2, flagstr("msg", self->a3), memstr("sockaddr", self->a4, self->a5), (int)self->a5,
	    flagstr("result", this->ret));
}

syscall::recvfrom:return
/self->in && !self->a4/
{
	printf("%-5d recvfrom(%d, %s, %d, %s, NULL, NULL) = %s\n", tid, (int)self->a0,
	    memstr("data", self->a1, this->ret), self->a2, flagstr("msg", self->a3), flagstr("result", this->ret));
}

syscall::recvfrom:entry
/self->in && self->a5/
{
	self->room = *(int *)copyin(arg5, 4);
}

syscall::recvfrom:return
/self->in && self->a4 && !this->ok/
{
	this->size = *(int *)copyin(self->a5, 4);
	printf("%-5d recvfrom(%d, %s, %d, %s, %s, [%d => %d]) = %s\n", tid, (int)self->a0,
	    memstr("data", self->a1, this->ret), self->a2, flagstr("msg", self->a3),
	    memstr("sockaddr", self->a4, this->size), self->room, this->size, flagstr("result", this->ret));
}

syscall::recvfrom:return
/self->in && self->a4 && this->ok/
{
	printf("%-5d recvfrom(%d, %s, %d, %s, %s, %s) = %s\n", tid, (int)self->a0, flagstr("address", self->a1),
	    self->a2, flagstr("msg", self->a3), flagstr("address", self->a4), memstr("int", self->a5, 1),
	    flagstr("result", this->ret));
}

syscall::sendmsg:return
/self->in/
{
	this->m = (uint64_t *)copyin(self->a1, 56);
	printf("%-5d sendmsg(%d, {msg_name=%s, msg_namelen=%d", tid, (int)self->a0,
	    memstr("sockaddr", this->m[0], this->m[1]), (int)this->m[1]);
	printf(", msg_iov=%s, msg_iovlen=%d", memstr("iovec", this->m[2], this->m[3]), this->m[3]);
	if (this->m[5]) {
		printf(", msg_control=%s", memstr("msg_control", this->m[4], this->m[5]));
	}
	printf(", msg_controllen=%d, msg_flags=%s}, %s) = %s\n", this->m[5], flagstr("msg", this->m[6]),
	    flagstr("msg", self->a2), flagstr("result", this->ret));
}

syscall::recvmsg:entry
/self->in/
{
	self->room = *(int *)copyin(arg1 + 8, 4);
}

syscall::recvmsg:return
/self->in && !this->ok/
{
	this->m = (uint64_t *)copyin(self->a1, 56);
	printf("%-5d recvmsg(%d, {msg_name=%s, msg_namelen=%d", tid, (int)self->a0,
	    memstr("sockaddr", this->m[0], this->m[1]), self->room);
	if ((int)this->m[1] != self->room) {
		printf(" => %d", (int)this->m[1]);
	}
	printf(", msg_iov=%s, msg_iovlen=%d", memstr("iovec", this->m[2], this->m[3], this->ret), this->m[3]);
	if (this->m[5]) {
		printf(", msg_control=%s", memstr("msg_control", this->m[4], this->m[5]));
	}
	printf(", msg_controllen=%d, msg_flags=%s}, %s) = %s\n", this->m[5], flagstr("msg", this->m[6]),
	    flagstr("msg", self->a2), flagstr("result", this->ret));
}

syscall::recvmsg:return
/self->in && this->ok/
{
	printf("%-5d recvmsg(%d, {msg_namelen=%d}, %s) = %s\n", tid, (int)self->a0, self->room,
	    flagstr("msg", self->a2), flagstr("result", this->ret));
}

syscall::setsockopt:return
/self->in/
{
	printf("%-5d setsockopt(%d, %s, %s", tid, (int)self->a0, flagstr("sol", self->a1),
	    flagstr("sockopt", self->a1 << 32 | self->a2));
	if (self->a1 == 1 && self->a2 == 13) {
		printf(", %s", memstr("linger", self->a3));
	} else if (self->a1 == 1 && (self->a2 == 20 || self->a2 == 21 || self->a2 == 25)) {
		printf(", %s", memstr("data", self->a3, self->a4));
	} else {
		printf(", %s", memstr("int", self->a3, self->a4 < 4 ? -1 : 1));
	}
	printf(", %d) = %s\n", (int)self->a4, flagstr("result", this->ret));
}

syscall::getsockopt:entry
/self->in && self->a4/
{
	self->room = *(int *)copyin(arg4, 4);
}

syscall::getsockopt:return
/self->in/
{
	printf("%-5d getsockopt(%d, %s, %s", tid, (int)self->a0, flagstr("sol", self->a1),
	    flagstr("sockopt", self->a1 << 32 | self->a2));
}

syscall::getsockopt:return
/self->in && !this->ok/
{
	this->size = *(int *)copyin(self->a4, 4);
	if (self->a1 == 1 && self->a2 == 4) {
		printf(", %s", memstr("error", self->a3, 1));
	} else if (self->a1 == 1 && self->a2 == 13) {
		printf(", %s", memstr("linger", self->a3));
	} else if (this->size == 4) {
		printf(", %s", memstr("int", self->a3, 1));
	} else {
		printf(", %s", memstr("data", self->a3, this->size));
	}
	if (this->size == self->room) {
		printf(", [%d]) = 0\n", this->size);
	} else {
		printf(", [%d => %d]) = 0\n", self->room, this->size);
	}
}

syscall::getsockopt:return
/self->in && this->ok/
{
	printf(", %s, %s) = %s\n", flagstr("address", self->a3), memstr("int", self->a4, 1), flagstr("result", this->ret));
}

syscall:::return
/self->in/
{
	self->in = 0;
}
