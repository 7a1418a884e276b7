# Runs the script of the program that is named, with what all of them have: `ready PID...` tells that a server can be
# attached to, and waits until whoever wants to has done so. $PORT, $SHARED and $REAL are the runner's.
name=$1; shift
ready() {
    [ -n "$ATTACH" ] || return 0
    echo "$@" > "$ATTACH/pids.new"; mv "$ATTACH/pids.new" "$ATTACH/pids"
    until [ -e "$ATTACH/go" ]; do sleep 0.02; done
}
. "$REAL/$name.sh"
