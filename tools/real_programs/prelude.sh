# Runs the script of the program that is named, with what all of them have: `ready PID...` tells that a server can be
# attached to, and waits until whoever wants to has done so; `await COMMAND...` does it until it succeeds, or says that
# it did not. $PORT, $SHARED and $REAL are the runner's.
name=$1; shift
await() {
    local end=$((SECONDS + 40))
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "in vain: $*"; exit 99; }
        sleep 0.05
    done
}
ready() {
    [ -n "$ATTACH" ] || return 0
    echo "$@" > "$ATTACH/pids.new"; mv "$ATTACH/pids.new" "$ATTACH/pids"
    until [ -e "$ATTACH/go" ]; do sleep 0.02; done
}
. "$REAL/$name.sh"
