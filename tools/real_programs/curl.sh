# curl, sixteen transfers at once from Python's server with threads.
# needs: curl
seq 20000 > page; mkdir -p sub; echo x > sub/a
"$PYTHON" -u -m http.server --bind 127.0.0.1 $PORT > log 2>&1 & server=$!
await curl -s -o /dev/null http://127.0.0.1:$PORT/sub/a
ready $server
for n in $(seq 16); do printf 'url = "http://127.0.0.1:%s/page"\noutput = "got%s"\n' $PORT $n; done > list
curl -sSZ --no-progress-meter --parallel-max 16 -K list; echo "status $?"; md5sum got* | cut -c1-32 | sort | uniq -c
curl -sf http://127.0.0.1:$PORT/nothing; echo "status $?"; curl -s --max-time 1 http://127.0.0.1:1/; echo "status $?"
kill $server; wait $server; echo "status $?"
