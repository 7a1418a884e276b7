# busybox's own shell and tools, in one static or shared program.
# needs: busybox
busybox sh -c 'for n in 1 2 3; do (exit $n) & wait $!; echo $?; done; seq 2000 | busybox md5sum; echo a b | busybox awk "{print \$2}"
    busybox timeout 20 busybox sleep 0.1; echo $?; trap "echo trapped" USR1; busybox kill -USR1 $$; echo end'
busybox find "$PWD" | busybox wc -l; busybox tar cf a.tar "$REAL/busybox.sh" 2> /dev/null; busybox tar tf a.tar | sed 's/.*\///'
