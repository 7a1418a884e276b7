# openssl: a server and clients of TLS, and its speed by two processes.
# needs: openssl
openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=localhost 2> /dev/null
seq 2000 > page
openssl s_server -accept 127.0.0.1:$PORT -key key -cert cert -quiet -WWW > log 2>&1 & server=$!
answers() { echo | openssl s_client -connect 127.0.0.1:$PORT > /dev/null 2>&1; }
await answers
ready $server
for n in 1 2 3 4 5; do
    printf 'GET /page HTTP/1.0\r\n\r\n' | openssl s_client -quiet -ign_eof -connect 127.0.0.1:$PORT 2> /dev/null | md5sum
done
kill $server; wait $server; echo "status $?"
openssl speed -multi 2 -seconds 1 -bytes 1024 sha256 2> /dev/null | grep -c '^sha256'
