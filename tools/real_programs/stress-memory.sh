# stress-ng: mappings, futexes, locks, message queues, files.
# needs: stress-ng
run() { stress-ng --quiet --temp-path "$PWD" "$@" > log 2>&1; echo "$1 status $?"; }
run --mmap 1 --mmap-ops 4 --mmap-bytes 4m; run --futex 2 --futex-ops 400
run --mq 1 --mq-ops 200; run --msg 1 --msg-ops 200; run --flock 2 --flock-ops 200; run --sock 1 --sock-ops 20 --sock-port $PORT
run --shm 1 --shm-ops 4; run --mremap 1 --mremap-ops 4 --mremap-bytes 1m; run --dentry 1 --dentry-ops 200
run --userfaultfd 1 --userfaultfd-ops 10; run --seccomp 1 --seccomp-ops 10; run --poll 1 --poll-ops 100; run --membarrier 1 --membarrier-ops 50
