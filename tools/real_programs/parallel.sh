# GNU parallel, eight jobs at once, some of which fail.
# needs: parallel
parallel --will-cite -k -j8 'echo {}; exit $(({} % 3 == 0))' ::: $(seq 16) | md5sum; echo "status ${PIPESTATUS[0]}"
seq 9 | parallel --will-cite -k -j4 --timeout 5 'sleep 0.0{}; echo {}'
