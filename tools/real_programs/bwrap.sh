# bwrap: namespaces of its own, and a filter that it is given.
# needs: bwrap
# user: root
# outside: container
"$PYTHON" - > filter <<'P'
import struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 83), (6, 0, 0, 0x50000 | 13), (6, 0, 0, 0x7fff0000)]
sys.stdout.buffer.write(b"".join(struct.pack("HBBI", *one) for one in code))
P
bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all --die-with-parent sh -c 'echo $$; set -- /proc/[0-9]*; echo $#; true'
bwrap --ro-bind / / --tmpfs /tmp --unshare-pid --proc /proc --seccomp 9 9< filter sh -c 'mkdir /tmp/x; echo $?; touch /tmp/y; echo $?
    for n in 1 2 3; do (exit $n) & wait $!; echo $?; done' 2>&1
bwrap --ro-bind / / nothing; echo "status $?"
