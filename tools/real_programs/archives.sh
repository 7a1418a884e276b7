# tar, cpio and compressors in pipelines, with holes and links.
# needs: tar cpio xz zstd gzip
mkdir -p in/a in/b; seq 5000 > in/a/numbers; ln in/a/numbers in/b/hard; ln -s ../a/numbers in/b/soft
truncate -s 400K in/hole; printf end >> in/hole
for z in gzip xz "zstd -q"; do
    tar -cS -I "$z" -f all.tar in; mkdir out; tar -xS -I "$z" -f all.tar -C out
    diff -r in out/in; echo "$z status $?"; stat -c %h out/in/a/numbers; readlink out/in/b/soft; rm -r out
done
find in | sort | cpio -o --quiet -H newc | (mkdir out; cd out; cpio -i --quiet -d); diff -r in out/in; echo "status $?"
xz -T2 -k in/a/numbers; xz -t in/a/numbers.xz; echo "status $?"; tar xf nothing.tar; echo "status $?"
