/*
 * Predicates of every form.
 *
 * Command: calls
 * Shows: [1-9]
 */

syscall:::entry /pid == $target && probefunc == "getppid"/ { @a["equal"] = count(); }
syscall:::entry /pid == $target && strstr(probefunc, "prio") != NULL/ { @a["within"] = count(); }
syscall:::entry /pid == $target && (arg0 == 777 || arg0 == 778)/ { @a["or"] = count(); }
syscall:::entry /pid == $target && (arg0 == 777 ^^ arg0 >= 777)/ { @a["either"] = count(); }
syscall:::entry /pid == $target && !(arg0 & 1) && arg0 << 1 > 4 && arg0 < 1000/ { @a["bits"] = count(); }
syscall::write:return /pid == $target && arg0 % 100 == 0/ { @a["hundreds"] = count(); }
syscall::write:entry /pid == $target && execname == "calls" && ppid == $pid/ { @a["relation"] = count(); }
