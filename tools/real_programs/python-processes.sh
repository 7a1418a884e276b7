# Python's own tests of child processes.
# needs: /usr/lib/python3.11/test/test_subprocess.py
/usr/bin/python3.11 -m test -v test_subprocess -m 'POSIXProcessTestCase' -i '*close_fds*' -i '*leak*' -i '*pass_fds*' \
    -i '*wait_when*' -i '*BrokenPipeError_stdin_write' -i '*send_signal' -i '*terminate' 2>&1 | grep -E ' \.\.\. |^Result' | sort
