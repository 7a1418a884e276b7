# rsync of a tree, between its two processes, with deletions.
# needs: rsync
mkdir -p from/sub; seq 5000 > from/one; seq 9000 > from/sub/two; ln -s one from/link
rsync -a from/ to/; diff -r from to; echo "status $?"
echo more >> from/one; rm from/sub/two; echo x > to/extra
rsync -ai --delete from/ to/ | cut -d' ' -f2- | grep -v '/$' | sort; rsync -a --checksum from/ to/; diff -r from to; echo "status $?"
rsync -a nothing/ to/ 2>&1 | sed 's/ at .*//'
