# dpkg, gpg-less apt tools, bc, gawk, bison: small programs one after the other.
# needs: dpkg-deb bc gawk mawk
mkdir -p p/DEBIAN p/usr/share/x; printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@localhost>\nDescription: x\n' > p/DEBIAN/control
seq 4000 > p/usr/share/x/f; dpkg-deb -b --root-owner-group p x.deb > /dev/null; dpkg-deb -c x.deb | awk '{print $1, $2, $3, $6}'; dpkg-deb -f x.deb Version
echo '2^200; scale=30; 4*a(1)' | bc -l; seq 3000 | gawk '{ s += $1; print s | "tail -1" } END { close("tail -1"); "echo 3" | getline x; print x }'
seq 3000 | mawk '{ a[$1 % 7] += $1 } END { for (i = 0; i < 7; i++) print a[i] }'; dpkg -s bash | head -2
