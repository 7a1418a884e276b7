# start-stop-daemon: processes that leave the command and are ended later; double forks.
# needs: start-stop-daemon
start-stop-daemon -S -q -b -m -p "$PWD/pid" -x /bin/sleep -- 30; echo "status $?"
await [ -s pid ]
start-stop-daemon -T -p "$PWD/pid"; echo "status $?"; start-stop-daemon -K -q -p "$PWD/pid" --retry 5; echo "status $?"
start-stop-daemon -T -p "$PWD/pid" > /dev/null; echo "status $?"
(setsid sh -c '(sleep 0.3; echo later > later) &' &); await [ -s later ]; cat later
