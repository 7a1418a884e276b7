# Python's own tests of signals, of threads that get them, and of forks with threads; three at once, as they wait.
# needs: /usr/lib/python3.11/test/test_signal.py
run() { /usr/bin/python3.11 -m test -v "$@" 2>&1 | grep -E ' \.\.\. |^Result' | sort > "$1"; }
run test_threadsignals & run test_fork1 &
run test_signal -m ItimerTest -m PendingSignalsTests -m WakeupFDTests & wait
cat test_threadsignals test_fork1 test_signal
