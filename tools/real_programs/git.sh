# Commits, a clone, a rebase with editors, garbage collection and a bundle.
# needs: git
export GIT_AUTHOR_DATE="2020-01-01T00:00:00Z" GIT_COMMITTER_DATE="2020-01-01T00:00:00Z" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=one GIT_AUTHOR_EMAIL=one@localhost GIT_COMMITTER_NAME=one GIT_COMMITTER_EMAIL=one@localhost
git init -q -b main first; cd first
for n in 1 2 3 4 5 6; do echo "line $n" >> file; echo $n > file$n; git add .; git commit -q -m "commit $n"; done
GIT_SEQUENCE_EDITOR="sed -i '2s/pick/squash/;3s/pick/reword/'" GIT_EDITOR="sed -i 1s/^/edited:/" \
    git rebase -q -i HEAD~4; echo "status $?"
git checkout -q -b side HEAD~2; echo other > file3; git commit -q -am side
git merge -q -m merged main; echo "status $?"; git merge --abort
git checkout -q main; git gc -q; git fsck --strict; git count-objects
cd ..; git clone -q first second; git -C second log --format='%H %s' | cat
git -C first bundle create -q ../all.bundle --all; git clone -q all.bundle third; git -C third rev-parse HEAD
git -C second grep -c line; git -C second archive HEAD | tar t
