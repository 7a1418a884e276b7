# Python's test that calls begin again behind a signal.
# needs: /usr/lib/python3.11/test/_test_eintr.py
/usr/bin/python3.11 /usr/lib/python3.11/test/_test_eintr.py -v 2>&1 | grep -E ' \.\.\. |^OK|^FAILED' | sort
