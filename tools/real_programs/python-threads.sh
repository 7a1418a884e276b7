# Python's own tests of threads, locks and schedulers, and pools of threads and processes.
# needs: /usr/lib/python3.11/test/test_thread.py
/usr/bin/python3.11 -m test -v test_thread test_threading_local test_sched 2>&1 |
    sed 's/ \.\.\. \(waiting\|task\).*/ .../' | grep -E ' \.\.\.|^Result' | sort
/usr/bin/python3.11 - <<'P'
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
    with kind(4) as pool:
        print(sum(pool.map(abs, range(-300, 300), chunksize=7)))
P
