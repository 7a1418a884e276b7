"""Programs written twice: each in D, then, behind a line of two dots, in bpftrace's language. What they leave in `r` is
the same. NN is the program's number, WORK the name of the program that all look at, PATH where it is.
"""

TWINS = r"""
syscall::read:entry /execname == "WORK"/ { @rNN = count(); }
..
tracepoint:syscalls:sys_enter_read /comm == "WORK"/ { @rNN = count(); }

syscall::read:entry /execname == "WORK"/ { @rNN = sum(arg2); }
..
tracepoint:syscalls:sys_enter_read /comm == "WORK"/ { @rNN = sum(args.count); }

syscall::read:entry /execname == "WORK"/ { @rNN = quantize(arg2); }
..
tracepoint:syscalls:sys_enter_read /comm == "WORK"/ { @rNN = hist(args.count); }

syscall::write:entry /execname == "WORK"/ { @rNN = lquantize(arg2, 0, 100, 10); }
..
tracepoint:syscalls:sys_enter_write /comm == "WORK"/ { @rNN = lhist(args.count, 0, 100, 10); }

syscall::write:entry /execname == "WORK"/ { @rNN = avg(arg2); }
..
tracepoint:syscalls:sys_enter_write /comm == "WORK"/ { @rNN = avg(args.count); }

syscall::write:return /execname == "WORK"/ { @rNN = max(arg1); }
..
tracepoint:syscalls:sys_exit_write /comm == "WORK"/ { @rNN = max(args.ret); }

syscall::close:return /execname == "WORK"/ { @rNN = min((int)arg1); }
..
tracepoint:syscalls:sys_exit_close /comm == "WORK"/ { @rNN = min(args.ret); }

syscall::close:return /execname == "WORK" && errno != 0/ { @rNN[errno] = count(); }
..
tracepoint:syscalls:sys_exit_close /comm == "WORK" && args.ret < 0/ { @rNN[-args.ret] = count(); }

syscall::openat:entry /execname == "WORK"/ { @rNN[copyinstr(arg1)] = count(); }
..
tracepoint:syscalls:sys_enter_openat /comm == "WORK"/ { @rNN[str(args.filename)] = count(); }

syscall::openat:entry /execname == "WORK"/ { this->f = copyinstr(arg1); }
syscall::openat:entry /execname == "WORK" && strlen(this->f) > 9/ {
    @rNN[strlen(this->f), substr(this->f, 0, 4)] = count();
}
..
tracepoint:syscalls:sys_enter_openat /comm == "WORK"/ {
    $f = str(args.filename);
    if (strlen($f) > 9) { @rNN[strlen($f), str(args.filename, 5)] = count(); }
}

syscall::openat:entry /execname == "WORK"/ { @rNN[arg2 & 3 ? "written" : "read"] = count(); }
..
tracepoint:syscalls:sys_enter_openat /comm == "WORK"/ { @rNN[args.flags & 3 ? "written" : "read"] = count(); }

syscall::openat:entry /execname == "WORK"/ { self->nameNN = copyinstr(arg1); }
syscall::openat:return /self->nameNN != NULL/ {
    @rNN[self->nameNN, (int)arg1 < 0 ? -1 : 1] = count(); self->nameNN = 0;
}
..
tracepoint:syscalls:sys_enter_openat /comm == "WORK"/ { @nameNN[tid] = str(args.filename); }
tracepoint:syscalls:sys_exit_openat /has_key(@nameNN, tid)/ {
    @rNN[@nameNN[tid], args.ret < 0 ? -1 : 1] = count();
    delete(@nameNN, tid);
}

syscall::lseek:entry /execname == "WORK"/ { @rNN[arg1 % 5] = sum(arg1); }
..
tracepoint:syscalls:sys_enter_lseek /comm == "WORK"/ { @rNN[args.offset % 5] = sum(args.offset); }

syscall::lseek:entry /execname == "WORK" && arg1 > 50 && arg1 <= 300/ { @rNN = count(); }
..
tracepoint:syscalls:sys_enter_lseek /comm == "WORK" && args.offset > 50 && args.offset <= 300/ { @rNN = count(); }

syscall::lseek:entry /execname == "WORK"/ { @rNN[arg1 > 100 ? "far" : arg1 > 20 ? "middle" : "near"] = count(); }
..
tracepoint:syscalls:sys_enter_lseek /comm == "WORK"/ {
    @rNN[args.offset > 100 ? "far" : (args.offset > 20 ? "middle" : "near")] = count();
}

syscall::access:entry /execname == "WORK"/ { @rNN[strlen(copyinstr(arg0))] = count(); }
..
tracepoint:syscalls:sys_enter_access /comm == "WORK"/ { @rNN[strlen(str(args.filename))] = count(); }

syscall::read:entry,syscall::write:entry,syscall::lseek:entry /execname == "WORK"/ { @rNN[probefunc] = count(); }
..
tracepoint:syscalls:sys_enter_read /comm == "WORK"/ { @rNN["read"] = count(); }
tracepoint:syscalls:sys_enter_write /comm == "WORK"/ { @rNN["write"] = count(); }
tracepoint:syscalls:sys_enter_lseek /comm == "WORK"/ { @rNN["lseek"] = count(); }

uint64_t totalNN, lastNN;
syscall::read:entry /execname == "WORK"/ { totalNN += arg2; lastNN = arg2; }
syscall::lseek:entry /execname == "WORK"/ { @rNN = max(totalNN * 3 - lastNN); }
..
tracepoint:syscalls:sys_enter_read /comm == "WORK"/ { @totalNN += args.count; @lastNN = args.count; }
tracepoint:syscalls:sys_enter_lseek /comm == "WORK"/ { @rNN = max(@totalNN * 3 - @lastNN); }

uint64_t sizesNN[uint64_t];
syscall::write:entry /execname == "WORK"/ { sizesNN[arg2 % 7]++; }
syscall::lseek:entry /execname == "WORK"/ { @rNN[arg1 % 7] = sum(sizesNN[arg1 % 7]); }
..
tracepoint:syscalls:sys_enter_write /comm == "WORK"/ { @sizesNN[args.count % 7]++; }
tracepoint:syscalls:sys_enter_lseek /comm == "WORK"/ { @rNN[args.offset % 7] = sum((int64)@sizesNN[args.offset % 7]); }

syscall::write:entry /execname == "WORK" && pid == tid/ { @rNN[pid == tid, uid, gid] = count(); }
..
tracepoint:syscalls:sys_enter_write /comm == "WORK" && pid == tid/ { @rNN[(int32)(pid == tid), uid, gid] = count(); }

syscall::write:entry /execname == "WORK" && pid == tid/ { @rNN[arg2 >> 2, arg2 ^ 5] = count(); }
..
tracepoint:syscalls:sys_enter_write /comm == "WORK" && pid == tid/ { @rNN[args.count >> 2, args.count ^ 5] = count(); }

pid$target:WORK:take:entry { @rNN[(int)arg0] = count(); }
..
uprobe:PATH:take { @rNN[(int32)arg0] = count(); }

pid$target:WORK:take:entry { @rNN = sum((int)arg0 * 3); }
..
uprobe:PATH:take { @rNN = sum((int32)arg0 * 3); }

pid$target:WORK:take:entry { @rNN[copyinstr(arg3)] = sum(arg2); }
..
uprobe:PATH:take { @rNN[str(arg3)] = sum(arg2); }

pid$target:WORK:take:entry { @rNN[substr(copyinstr(arg3), 0, 3)] = max(arg2); }
..
uprobe:PATH:take { @rNN[str(arg3, 4)] = max(arg2); }

pid$target:WORK:take:entry /copyinstr(arg3) == "three"/ { @rNN = count(); }
..
uprobe:PATH:take /str(arg3) == "three"/ { @rNN = count(); }

pid$target:WORK:take:entry /strstr(copyinstr(arg3), "tee") != NULL/ { @rNN = count(); }
..
uprobe:PATH:take /strcontains(str(arg3), "tee")/ { @rNN = count(); }

pid$target:WORK:take:return { @rNN = quantize((long)arg1 & 0xffff); }
..
uretprobe:PATH:take { @rNN = hist(retval & 0xffff); }

pid$target:WORK:take:entry { self->nNN = (int)arg0; self->inNN = 1; }
pid$target:WORK:take:return /self->inNN/ {
    @rNN[self->nNN < 0 ? "below" : "above"] = sum((long)arg1 + self->nNN); self->inNN = 0;
}
..
uprobe:PATH:take { @nNN[tid] = (int32)arg0; }
uretprobe:PATH:take /has_key(@nNN, tid)/ {
    $n = @nNN[tid];
    @rNN[$n < 0 ? "below" : "above"] = sum((int64)retval + $n);
    delete(@nNN[tid]);
}

pid$target:WORK:take:entry { @rNN = lquantize(arg1, 0, 256, 32); }
..
uprobe:PATH:take { @rNN = lhist(arg1, 0, 256, 32); }

pid$target:WORK:take:entry { @rNN[(unsigned char)arg1, (short)arg0] = count(); }
..
uprobe:PATH:take { @rNN[(uint8)arg1, (int16)arg0] = count(); }

pid$target:WORK:take:entry { @rNN = sum((int)arg0 / 4); }
..
uprobe:PATH:take { @rNN = sum((int32)arg0 / 4); }

pid$target:WORK:take:entry { @rNN = sum((int)arg0 % 4); }
..
uprobe:PATH:take { @rNN = sum((int32)arg0 % 4); }

pid$target:WORK:take:entry { @rNN = max(-(int)arg0); }
..
uprobe:PATH:take { @rNN = max(-(int32)arg0); }

pid$target:WORK:take:entry { @rNN = min(~arg1 & 0xff); }
..
uprobe:PATH:take { @rNN = min(~arg1 & 0xff); }

pid$target:WORK:take:entry { @rNN[(arg2 << 3) >> 1] = count(); }
..
uprobe:PATH:take { @rNN[(arg2 << 3) >> 1] = count(); }

pid$target:WORK:take:entry { @rNN[!(arg1 & 1)] = count(); }
..
uprobe:PATH:take { @rNN[(int32)!(arg1 & 1)] = count(); }

pid$target:WORK:take:entry /(int)arg0 < 0 || arg1 > 200/ { @rNN = count(); }
..
uprobe:PATH:take /(int32)arg0 < 0 || arg1 > 200/ { @rNN = count(); }

pid$target:WORK:take:entry { @rNN["all"] = count(); }
pid$target:WORK:take:entry /(int)arg0 >= 0/ { @rNN["some"] = count(); }
..
uprobe:PATH:take { @rNN["all"] = count(); if ((int32)arg0 >= 0) { @rNN["some"] = count(); } }

pid$target:WORK:level:entry { @rNN[arg0] = count(); }
..
uprobe:PATH:level { @rNN[arg0] = count(); }

self int depthNN;
pid$target:WORK:level:entry { self->depthNN++; @rNN = max(self->depthNN); }
pid$target:WORK:level:return { self->depthNN--; }
..
uprobe:PATH:level { @depthNN[tid]++; @rNN = max(@depthNN[tid]); }
uretprobe:PATH:level { @depthNN[tid]--; }

pid$target:WORK:level:return { @rNN[arg1] = count(); }
..
uretprobe:PATH:level { @rNN[retval] = count(); }

pid$target:WORK:level:entry { @rNN[probefunc, pid == $target] = count(); }
..
uprobe:PATH:level { @rNN[func, (int32)(comm == "WORK")] = count(); }

pid$target:WORK:visit:entry { @rNN[((struct item *)copyin(arg0, sizeof (struct item)))->id] = count(); }
..
uprobe:PATH:visit { @rNN[((struct item *)arg0).id] = count(); }

pid$target:WORK:visit:entry {
    this->i = (struct item *)copyin(arg0, sizeof (struct item)); @rNN[this->i->kind] = sum(this->i->sum);
}
..
uprobe:PATH:visit { $i = (struct item *)arg0; @rNN[$i.kind] = sum($i.sum); }

pid$target:WORK:visit:entry {
    this->i = (struct item *)copyin(arg0, sizeof (struct item)); @rNN[stringof(this->i->name)] = count();
}
..
uprobe:PATH:visit { $i = (struct item *)arg0; @rNN[$i->name] = count(); }

pid$target:WORK:visit:entry { this->i = (struct item *)copyin(arg0, sizeof (struct item)); }
pid$target:WORK:visit:entry /this->i->next != NULL/ {
    this->n = (struct item *)copyin((uintptr_t)this->i->next, sizeof (struct item));
    @rNN[stringof(this->n->name), this->n->flags] = sum(this->n->kind);
}
..
uprobe:PATH:visit {
    $i = (struct item *)arg0;
    if ($i.next != 0) { @rNN[$i.next.name, $i.next.flags] = sum($i.next.kind); }
}

pid$target:WORK:visit:entry { this->a = (int *)copyin(arg1, 16); @rNN = sum(this->a[3] - this->a[1]); }
..
uprobe:PATH:visit { $a = (int32 *)arg1; @rNN = sum($a[3] - $a[1]); }

pid$target:WORK:visit:entry { this->a = (int *)copyin(arg1, 16); @rNN[*(this->a + 2) & 7] = count(); }
..
uprobe:PATH:visit { @rNN[*((int32 *)arg1 + 2) & 7] = count(); }

pid$target:WORK:visit:entry { @rNN = sum(*(unsigned char *)copyin(arg1, 1)); }
..
uprobe:PATH:visit { @rNN = sum(*(uint8 *)arg1); }

pid$target:WORK:visit:entry {
    @rNN[(((struct item *)copyin(arg0, sizeof (struct item)))->flags & 0x80) >> 7] = count();
}
..
uprobe:PATH:visit { @rNN[(((struct item *)arg0).flags & 0x80) >> 7] = count(); }

pid$target:WORK:visit:entry { @rNN[sizeof (struct item), offsetof(struct item, next)] = count(); }
..
uprobe:PATH:visit { @rNN[sizeof(struct item), offsetof(struct item, next)] = count(); }

pid$target:WORK:judge:entry { self->judgedNN = arg0; }
pid$target:WORK:judge:return /(int)arg1 < 0/ { @rNN[self->judgedNN] = sum((int)arg1); }
..
uprobe:PATH:judge { @judgedNN[tid] = arg0; }
uretprobe:PATH:judge /(int32)retval < 0/ { @rNN[@judgedNN[tid]] = sum((int32)retval); }

pid$target:WORK:judge:return { @rNN[(int)arg1 > 0] = avg((int)arg1); }
..
uretprobe:PATH:judge { @rNN[(int32)((int32)retval > 0)] = avg((int32)retval); }

pid$target:WORK:judge:entry { seenNN[arg0 % 4, arg0 > 20] = arg0; }
pid$target:WORK:judge:return { @rNN = sum(seenNN[1, 0] + seenNN[2, 1]); }
..
uprobe:PATH:judge { @seenNN[arg0 % 4, arg0 > 20] = arg0; }
uretprobe:PATH:judge { @rNN = sum((int64)@seenNN[1, false] + (int64)@seenNN[2, true]); }

pid$target:WORK:judge:entry { @rNN = sum(arg0 * arg0); @rNN = sum(1); }
..
uprobe:PATH:judge { @rNN = sum(arg0 * arg0); @rNN = sum(1); }

uint64_t bigNN;
pid$target:WORK:judge:entry { bigNN = arg0 > bigNN ? arg0 : bigNN; @rNN = max(bigNN); }
..
uprobe:PATH:judge { @bigNN = arg0 > (uint64)@bigNN ? arg0 : (uint64)@bigNN; @rNN = max((uint64)@bigNN); }

pid$target:WORK:judge:entry /arg0 % 10 == 0/ { @rNN[strjoin("round ", lltostr(arg0))] = count(); }
..
uprobe:PATH:judge /arg0 % 10 == 0/ {
    @rNN[arg0 == 0 ? "round 0" : arg0 == 10 ? "round 10" : arg0 == 20 ? "round 20" : "round 30"] = count();
}

pid$target:WORK:judge:entry { @rNN[arg0 / 5] = quantize(arg0); }
..
uprobe:PATH:judge { @rNN[arg0 / 5] = hist(arg0); }

pid$target:WORK:judge:entry { @rNN[arg0 % 2] = lquantize(arg0, 3, 33, 5); }
..
uprobe:PATH:judge { @rNN[arg0 % 2] = lhist(arg0, 3, 33, 5); }
"""
