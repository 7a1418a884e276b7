# A Rust program with threads, channels and processes.
# needs: rustc
if [ "$1" = prepare ]; then
    cat > r.rs <<'R'
use std::{process::Command, sync::mpsc, thread, net::*, io::*};
fn main() {
    let (tx, rx) = mpsc::channel();
    for i in 0..6u64 { let tx = tx.clone(); thread::spawn(move || { for k in 0..20000 { tx.send(i * k).unwrap(); } }); }
    drop(tx); println!("{}", rx.iter().sum::<u64>());
    for i in 0..5 { let s = Command::new("sh").arg("-c").arg(format!("exit {}", i)).status().unwrap(); println!("{}", s); }
    let l = TcpListener::bind("127.0.0.1:0").unwrap(); let at = l.local_addr().unwrap();
    let t = thread::spawn(move || { let mut n = 0; for _ in 0..30 { let mut s = String::new();
        l.accept().unwrap().0.read_to_string(&mut s).unwrap(); n += s.len(); } n });
    for i in 0..30 { TcpStream::connect(at).unwrap().write_all("x".repeat(i).as_bytes()).unwrap(); }
    println!("{}", t.join().unwrap()); println!("{:?}", thread::spawn(|| { if true { panic!("no") } }).join().is_err());
}
R
    exec rustc -O -o r r.rs
fi
"$SHARED/r" 2>/dev/null; echo "status $?"
