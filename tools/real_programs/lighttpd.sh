# lighttpd under ab, ten requests at once, all of which succeed.
# needs: lighttpd ab
seq 3000 > index.html
printf 'server.document-root = "%s"\nserver.port = %s\nserver.bind = "127.0.0.1"\n' "$PWD" $PORT > conf
lighttpd -D -f conf 2> log & server=$!
await curl -s -o /dev/null http://127.0.0.1:$PORT/index.html
ready $server
ab -q -n 700 -c 10 http://127.0.0.1:$PORT/index.html 2>&1 | grep -E '^(Complete|Failed|Total transferred)'
ab -q -k -n 300 -c 10 http://127.0.0.1:$PORT/nothing 2>&1 | grep -E '^(Complete|Failed|Non-2xx)'
kill -INT $server; wait $server; echo "status $?"
