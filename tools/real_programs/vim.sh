# vim in a terminal: typed text, a filter command, a suspension.
# needs: vim
"$PYTHON" "$REAL/terminal.py" bash --norc --noprofile -i <<'T'
> PS1='$ '; set +o history; stty -echo
> vim -u NONE -i NONE -n file
~ 0.4
: ihello from a terminal
^ [
: o3
^ M
: 1
^ M
: 2
^ [
> :2,$!sort
~ 0.4
^ Z
< Stopped
> fg
~ 0.3
> :wq
~ 0.3
> cat file | tr '\n' ' '; echo done
< hello from a terminal 1 2 3 done
> exit
T
cat file
vim -u NONE -i NONE -n -es -c '%s/hello/bye/' -c 'wq' file; cat file
