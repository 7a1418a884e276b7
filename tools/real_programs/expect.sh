# expect, with a shell in its terminal.
# needs: expect
expect -c 'set timeout 20; log_user 0; spawn sh; send "echo x$((2 + 3))y\r"; expect "x5y" { puts found } timeout { puts late }
    send "stty -echo; exit 6\r"; expect eof; puts [lindex [wait] 3]'
