# Python's own tests of files, pseudo-terminals, mappings and locks.
# needs: /usr/lib/python3.11/test/test_os.py
/usr/bin/python3.11 -m test -v test_pty test_fcntl test_mmap test_posix test_openpty test_ioctl test_file test_glob \
    -i '*_large*' -i '*sched*' 2>&1 | grep -E ' \.\.\. |^Result' | sort
