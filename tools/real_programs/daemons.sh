# start-stop-daemon: processes that leave the command and are ended later; double forks.
# needs: start-stop-daemon
start-stop-daemon -S -q -b -m -p "$PWD/pid" -x /bin/sleep -- 30; echo "status $?"
for n in $(seq 100); do [ -s pid ] && break; sleep 0.02; done
start-stop-daemon -T -p "$PWD/pid"; echo "status $?"; start-stop-daemon -K -q -p "$PWD/pid" --retry 5; echo "status $?"
start-stop-daemon -T -p "$PWD/pid" > /dev/null; echo "status $?"
(setsid sh -c '(sleep 0.3; echo later > later) &' &); for n in $(seq 100); do [ -s later ] && break; sleep 0.05; done; cat later
