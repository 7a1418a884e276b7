# ruff: noqa: E501
"""The 32-bit system calls of x86: made by tools/make_syscall_table.py, not to be edited.

A line has the number, the name, and `=call` where the call takes the arguments of that 64-bit call, else its own
arguments in parentheses where they are known.
"""

CALLS = """\
0 restart_syscall=restart_syscall
1 exit=exit
2 fork=fork
3 read=read
4 write=write
5 open=open
6 close=close
7 waitpid(pid_t pid, int* stat_addr, int options)
8 creat=creat
9 link=link
10 unlink=unlink
11 execve=execve
12 chdir=chdir
13 time=time
14 mknod=mknod
15 chmod=chmod
16 lchown(const char* filename, old_uid_t user, old_gid_t group)
18 oldstat(const char* filename, struct __old_kernel_stat* statbuf)
19 lseek=lseek
20 getpid=getpid
21 mount=mount
22 umount(char* name)
23 setuid(old_uid_t uid)
24 getuid()
25 stime(old_time32_t* tptr)
26 ptrace=ptrace
27 alarm=alarm
28 oldfstat(unsigned int fd, struct __old_kernel_stat* statbuf)
29 pause=pause
30 utime=utime
33 access=access
34 nice(int increment)
36 sync=sync
37 kill=kill
38 rename=rename
39 mkdir=mkdir
40 rmdir=rmdir
41 dup=dup
42 pipe=pipe
43 times=times
45 brk=brk
46 setgid(old_gid_t gid)
47 getgid()
48 signal(int sig, __sighandler_t handler)
49 geteuid()
50 getegid()
51 acct=acct
52 umount2=umount2
54 ioctl=ioctl
55 fcntl=fcntl
57 setpgid=setpgid
59 oldolduname(struct oldold_utsname* name)
60 umask=umask
61 chroot=chroot
62 ustat=ustat
63 dup2=dup2
64 getppid=getppid
65 getpgrp=getpgrp
66 setsid=setsid
67 sigaction(int sig, const struct compat_old_sigaction* act, struct compat_old_sigaction* oact)
68 sgetmask()
69 ssetmask(int newmask)
70 setreuid(old_uid_t ruid, old_uid_t euid)
71 setregid(old_gid_t rgid, old_gid_t egid)
72 sigsuspend(int unused1, int unused2, old_sigset_t mask)
73 sigpending(compat_old_sigset_t* set)
74 sethostname=sethostname
75 setrlimit=setrlimit
76 getrlimit=getrlimit
77 getrusage=getrusage
78 gettimeofday=gettimeofday
79 settimeofday=settimeofday
80 getgroups(int gidsetsize, old_gid_t* grouplist)
81 setgroups(int gidsetsize, old_gid_t* grouplist)
82 select(struct compat_sel_arg_struct* arg)
83 symlink=symlink
84 oldlstat(const char* filename, struct __old_kernel_stat* statbuf)
85 readlink=readlink
86 uselib=uselib
87 swapon=swapon
88 reboot=reboot
89 readdir(unsigned int fd, struct compat_old_linux_dirent* dirent, unsigned int count)
90 mmap(struct mmap_arg_struct32* arg)
91 munmap=munmap
92 truncate=truncate
93 ftruncate=ftruncate
94 fchmod=fchmod
95 fchown(unsigned int fd, old_uid_t user, old_gid_t group)
96 getpriority=getpriority
97 setpriority=setpriority
99 statfs=statfs
100 fstatfs=fstatfs
101 ioperm=ioperm
102 socketcall(int call, u32* args)
103 syslog=syslog
104 setitimer=setitimer
105 getitimer=getitimer
106 stat=stat
107 lstat=lstat
108 fstat=fstat
109 olduname(struct old_utsname* name)
110 iopl=iopl
111 vhangup=vhangup
113 vm86old(struct vm86_struct* user_vm86)
114 wait4=wait4
115 swapoff=swapoff
116 sysinfo=sysinfo
117 ipc(u32 call, int first, int second, u32 third, compat_uptr_t ptr, u32 fifth)
118 fsync=fsync
119 sigreturn()
120 clone(unsigned long clone_flags, unsigned long newsp, int* parent_tidptr, unsigned long tls_val, int* child_tidptr)
121 setdomainname=setdomainname
122 uname=uname
123 modify_ldt=modify_ldt
124 adjtimex=adjtimex
125 mprotect=mprotect
126 sigprocmask(int how, compat_old_sigset_t* nset, compat_old_sigset_t* oset)
128 init_module=init_module
129 delete_module=delete_module
131 quotactl=quotactl
132 getpgid=getpgid
133 fchdir=fchdir
135 sysfs=sysfs
136 personality=personality
138 setfsuid(old_uid_t uid)
139 setfsgid(old_gid_t gid)
140 _llseek(unsigned int fd, unsigned long offset_high, unsigned long offset_low, loff_t* result, unsigned int whence)
141 getdents=getdents
142 _newselect=select
143 flock=flock
144 msync=msync
145 readv=readv
146 writev=writev
147 getsid=getsid
148 fdatasync=fdatasync
150 mlock=mlock
151 munlock=munlock
152 mlockall=mlockall
153 munlockall=munlockall
154 sched_setparam=sched_setparam
155 sched_getparam=sched_getparam
156 sched_setscheduler=sched_setscheduler
157 sched_getscheduler=sched_getscheduler
158 sched_yield=sched_yield
159 sched_get_priority_max=sched_get_priority_max
160 sched_get_priority_min=sched_get_priority_min
161 sched_rr_get_interval=sched_rr_get_interval
162 nanosleep=nanosleep
163 mremap=mremap
164 setresuid(old_uid_t ruid, old_uid_t euid, old_uid_t suid)
165 getresuid(old_uid_t* ruidp, old_uid_t* euidp, old_uid_t* suidp)
166 vm86(unsigned long cmd, unsigned long arg)
168 poll=poll
170 setresgid(old_gid_t rgid, old_gid_t egid, old_gid_t sgid)
171 getresgid(old_gid_t* rgidp, old_gid_t* egidp, old_gid_t* sgidp)
172 prctl=prctl
173 rt_sigreturn=rt_sigreturn
174 rt_sigaction=rt_sigaction
175 rt_sigprocmask=rt_sigprocmask
176 rt_sigpending=rt_sigpending
177 rt_sigtimedwait=rt_sigtimedwait
178 rt_sigqueueinfo=rt_sigqueueinfo
179 rt_sigsuspend=rt_sigsuspend
180 pread64(unsigned int fd, char* ubuf, u32 count, u32 poslo, u32 poshi)
181 pwrite64(unsigned int fd, const char* ubuf, u32 count, u32 poslo, u32 poshi)
182 chown(const char* filename, old_uid_t user, old_gid_t group)
183 getcwd=getcwd
184 capget=capget
185 capset=capset
186 sigaltstack=sigaltstack
187 sendfile(int out_fd, int in_fd, compat_off_t* offset, compat_size_t count)
190 vfork=vfork
191 ugetrlimit(unsigned int resource, struct compat_rlimit* rlim)
192 mmap2(unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long pgoff)
193 truncate64(const char* filename, unsigned long offset_low, unsigned long offset_high)
194 ftruncate64(unsigned int fd, unsigned long offset_low, unsigned long offset_high)
195 stat64=stat
196 lstat64=lstat
197 fstat64=fstat
198 lchown32=lchown
199 getuid32=getuid
200 getgid32=getgid
201 geteuid32=geteuid
202 getegid32=getegid
203 setreuid32=setreuid
204 setregid32=setregid
205 getgroups32=getgroups
206 setgroups32=setgroups
207 fchown32=fchown
208 setresuid32=setresuid
209 getresuid32=getresuid
210 setresgid32=setresgid
211 getresgid32=getresgid
212 chown32=chown
213 setuid32=setuid
214 setgid32=setgid
215 setfsuid32=setfsuid
216 setfsgid32=setfsgid
217 pivot_root=pivot_root
218 mincore=mincore
219 madvise=madvise
220 getdents64=getdents64
221 fcntl64=fcntl
224 gettid=gettid
225 readahead(int fd, unsigned int off_lo, unsigned int off_hi, size_t count)
226 setxattr=setxattr
227 lsetxattr=lsetxattr
228 fsetxattr=fsetxattr
229 getxattr=getxattr
230 lgetxattr=lgetxattr
231 fgetxattr=fgetxattr
232 listxattr=listxattr
233 llistxattr=llistxattr
234 flistxattr=flistxattr
235 removexattr=removexattr
236 lremovexattr=lremovexattr
237 fremovexattr=fremovexattr
238 tkill=tkill
239 sendfile64=sendfile
240 futex=futex
241 sched_setaffinity=sched_setaffinity
242 sched_getaffinity=sched_getaffinity
243 set_thread_area(struct user_desc* u_info)
244 get_thread_area(struct user_desc* u_info)
245 io_setup=io_setup
246 io_destroy=io_destroy
247 io_getevents=io_getevents
248 io_submit=io_submit
249 io_cancel=io_cancel
250 fadvise64(int fd, unsigned int offset_lo, unsigned int offset_hi, size_t len, int advice)
252 exit_group=exit_group
253 lookup_dcookie(u32 w0, u32 w1, char* buf, compat_size_t len)
254 epoll_create=epoll_create
255 epoll_ctl=epoll_ctl
256 epoll_wait=epoll_wait
257 remap_file_pages=remap_file_pages
258 set_tid_address=set_tid_address
259 timer_create=timer_create
260 timer_settime=timer_settime
261 timer_gettime=timer_gettime
262 timer_getoverrun=timer_getoverrun
263 timer_delete=timer_delete
264 clock_settime=clock_settime
265 clock_gettime=clock_gettime
266 clock_getres=clock_getres
267 clock_nanosleep=clock_nanosleep
268 statfs64(const char* pathname, compat_size_t sz, struct compat_statfs64* buf)
269 fstatfs64(unsigned int fd, compat_size_t sz, struct compat_statfs64* buf)
270 tgkill=tgkill
271 utimes=utimes
272 fadvise64_64(int fd, u32 offset_low, u32 offset_high, u32 len_low, u32 len_high, int advice)
274 mbind=mbind
275 get_mempolicy=get_mempolicy
276 set_mempolicy=set_mempolicy
277 mq_open=mq_open
278 mq_unlink=mq_unlink
279 mq_timedsend=mq_timedsend
280 mq_timedreceive=mq_timedreceive
281 mq_notify=mq_notify
282 mq_getsetattr=mq_getsetattr
283 kexec_load=kexec_load
284 waitid=waitid
286 add_key=add_key
287 request_key=request_key
288 keyctl=keyctl
289 ioprio_set=ioprio_set
290 ioprio_get=ioprio_get
291 inotify_init=inotify_init
292 inotify_add_watch=inotify_add_watch
293 inotify_rm_watch=inotify_rm_watch
294 migrate_pages=migrate_pages
295 openat=openat
296 mkdirat=mkdirat
297 mknodat=mknodat
298 fchownat=fchownat
299 futimesat=futimesat
300 fstatat64(unsigned int dfd, const char* filename, struct stat64* statbuf, int flag)
301 unlinkat=unlinkat
302 renameat=renameat
303 linkat=linkat
304 symlinkat=symlinkat
305 readlinkat=readlinkat
306 fchmodat=fchmodat
307 faccessat=faccessat
308 pselect6=pselect6
309 ppoll=ppoll
310 unshare=unshare
311 set_robust_list=set_robust_list
312 get_robust_list=get_robust_list
313 splice=splice
314 sync_file_range(int fd, unsigned int off_low, unsigned int off_hi, unsigned int n_low, unsigned int n_hi, int flags)
315 tee=tee
316 vmsplice=vmsplice
317 move_pages=move_pages
318 getcpu=getcpu
319 epoll_pwait=epoll_pwait
320 utimensat=utimensat
321 signalfd=signalfd
322 timerfd_create=timerfd_create
323 eventfd=eventfd
324 fallocate(int fd, int mode, unsigned int offset_lo, unsigned int offset_hi, unsigned int len_lo, unsigned int len_hi)
325 timerfd_settime=timerfd_settime
326 timerfd_gettime=timerfd_gettime
327 signalfd4=signalfd4
328 eventfd2=eventfd2
329 epoll_create1=epoll_create1
330 dup3=dup3
331 pipe2=pipe2
332 inotify_init1=inotify_init1
333 preadv=preadv
334 pwritev=pwritev
335 rt_tgsigqueueinfo=rt_tgsigqueueinfo
336 perf_event_open=perf_event_open
337 recvmmsg=recvmmsg
338 fanotify_init=fanotify_init
339 fanotify_mark(int fanotify_fd, unsigned int flags, u32 mask0, u32 mask1, int dfd, const char* pathname)
340 prlimit64=prlimit64
341 name_to_handle_at=name_to_handle_at
342 open_by_handle_at=open_by_handle_at
343 clock_adjtime=clock_adjtime
344 syncfs=syncfs
345 sendmmsg=sendmmsg
346 setns=setns
347 process_vm_readv=process_vm_readv
348 process_vm_writev=process_vm_writev
349 kcmp=kcmp
350 finit_module=finit_module
351 sched_setattr=sched_setattr
352 sched_getattr=sched_getattr
353 renameat2=renameat2
354 seccomp=seccomp
355 getrandom=getrandom
356 memfd_create=memfd_create
357 bpf=bpf
358 execveat=execveat
359 socket=socket
360 socketpair=socketpair
361 bind=bind
362 connect=connect
363 listen=listen
364 accept4=accept4
365 getsockopt=getsockopt
366 setsockopt=setsockopt
367 getsockname=getsockname
368 getpeername=getpeername
369 sendto=sendto
370 sendmsg=sendmsg
371 recvfrom=recvfrom
372 recvmsg=recvmsg
373 shutdown=shutdown
374 userfaultfd=userfaultfd
375 membarrier=membarrier
376 mlock2=mlock2
377 copy_file_range=copy_file_range
378 preadv2=preadv2
379 pwritev2=pwritev2
380 pkey_mprotect=pkey_mprotect
381 pkey_alloc=pkey_alloc
382 pkey_free=pkey_free
383 statx=statx
384 arch_prctl=arch_prctl
385 io_pgetevents=io_pgetevents
386 rseq=rseq
393 semget=semget
394 semctl=semctl
395 shmget=shmget
396 shmctl=shmctl
397 shmat=shmat
398 shmdt=shmdt
399 msgget=msgget
400 msgsnd=msgsnd
401 msgrcv=msgrcv
402 msgctl=msgctl
403 clock_gettime64=clock_gettime
404 clock_settime64=clock_settime
405 clock_adjtime64=clock_adjtime
406 clock_getres_time64=clock_getres
407 clock_nanosleep_time64=clock_nanosleep
408 timer_gettime64=timer_gettime
409 timer_settime64=timer_settime
410 timerfd_gettime64=timerfd_gettime
411 timerfd_settime64=timerfd_settime
412 utimensat_time64=utimensat
413 pselect6_time64=pselect6
414 ppoll_time64=ppoll
416 io_pgetevents_time64=io_pgetevents
417 recvmmsg_time64=recvmmsg
418 mq_timedsend_time64=mq_timedsend
419 mq_timedreceive_time64=mq_timedreceive
420 semtimedop_time64=semtimedop
421 rt_sigtimedwait_time64=rt_sigtimedwait
422 futex_time64=futex
423 sched_rr_get_interval_time64=sched_rr_get_interval
424 pidfd_send_signal=pidfd_send_signal
425 io_uring_setup=io_uring_setup
426 io_uring_enter=io_uring_enter
427 io_uring_register=io_uring_register
428 open_tree=open_tree
429 move_mount=move_mount
430 fsopen=fsopen
431 fsconfig=fsconfig
432 fsmount=fsmount
433 fspick=fspick
434 pidfd_open=pidfd_open
435 clone3=clone3
436 close_range=close_range
437 openat2=openat2
438 pidfd_getfd=pidfd_getfd
439 faccessat2=faccessat2
440 process_madvise=process_madvise
441 epoll_pwait2=epoll_pwait2
442 mount_setattr=mount_setattr
443 quotactl_fd=quotactl_fd
444 landlock_create_ruleset=landlock_create_ruleset
445 landlock_add_rule=landlock_add_rule
446 landlock_restrict_self=landlock_restrict_self
447 memfd_secret=memfd_secret
448 process_mrelease=process_mrelease
449 futex_waitv=futex_waitv
450 set_mempolicy_home_node=set_mempolicy_home_node
451 cachestat=cachestat
452 fchmodat2=fchmodat2
453 map_shadow_stack=map_shadow_stack
454 futex_wake=futex_wake
455 futex_wait=futex_wait
456 futex_requeue=futex_requeue
457 statmount=statmount
458 listmount=listmount
459 lsm_get_self_attr=lsm_get_self_attr
460 lsm_set_self_attr=lsm_set_self_attr
461 lsm_list_modules=lsm_list_modules
462 mseal=mseal
463 setxattrat=setxattrat
464 getxattrat=getxattrat
465 listxattrat=listxattrat
466 removexattrat=removexattrat
467 open_tree_attr=open_tree_attr
468 file_getattr=file_getattr
469 file_setattr=file_setattr
"""
