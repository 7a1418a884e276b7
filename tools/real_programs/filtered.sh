# file and man, which filter their own system calls, and a shell below no_new_privs.
# needs: file man
file -b /bin/sh /etc/passwd /dev/null /usr/bin/perl | sed 's/BuildID.*//'; file -S -b /etc/passwd
printf '.TH X 1\n.SH NAME\nx \\- a page\n.SH TEXT\nwords of it\n' > x.1; man -l ./x.1 2>&1 | grep -vE '^$|[0-9]{4}'
man -P cat -l ./x.1 | md5sum | cut -c1-4 > /dev/null; echo "status $?"; man -l nothing.1; echo "status $?"
setpriv --no-new-privs sh -c 'grep NoNewPrivs /proc/self/status | tr "\t" " "'
