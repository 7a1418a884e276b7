# Python's tests that calls begin again behind a signal, all kinds of calls at once, as they wait.
# needs: /usr/lib/python3.11/test/_test_eintr.py
kinds="OSEINTRTest SocketEINTRTest TimeEINTRTest SignalEINTRTest SelectEINTRTest FNTLEINTRTest"
for kind in $kinds; do
    /usr/bin/python3.11 /usr/lib/python3.11/test/_test_eintr.py -v $kind 2>&1 | grep -E ' \.\.\. |^OK|^FAILED' | sort > $kind &
done
wait; cat $kinds
