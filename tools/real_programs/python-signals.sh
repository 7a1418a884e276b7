# Python's own tests of signals, of threads that get them, and of forks with threads; three at once, as they wait.
# needs: /usr/lib/python3.11/test/test_signal.py
run() { /usr/bin/python3.11 -m test -v "$@" 2>&1 | grep -E ' \.\.\. |^Result' | sort > "$1"; }
run test_threadsignals -i '*timed*' -i '*.test_lock_acquire_interruption' & run test_fork1 &
run test_signal -m '*test_itimer_exc' -m '*test_sigwait*' -m '*test_sigpending' -m '*test_pthread_kill*' -m WakeupFDTests & wait
cat test_threadsignals test_fork1 test_signal
