# A Go program: goroutines on several threads, preempted by signals, and processes.
# needs: go
if [ "$1" = prepare ]; then
    cat > g.go <<'G'
package main
import ("fmt"; "net"; "os"; "os/exec"; "runtime"; "sync"; "time"; "io")
func main() {
    runtime.GOMAXPROCS(4); var wg sync.WaitGroup; var mu sync.Mutex; n := 0
    for i := 0; i < 50; i++ { wg.Add(1); go func(i int) { defer wg.Done(); for k := 0; k < 100; k++ { mu.Lock(); n += i; mu.Unlock() } }(i) }
    spin := make(chan int); go func() { x := 0; for t := time.Now(); time.Since(t) < 100*time.Millisecond; { x++ }; spin <- 1 }()
    wg.Wait(); fmt.Println(n, <-spin)
    for i := 0; i < 8; i++ { wg.Add(1); go func() { defer wg.Done(); exec.Command("true").Run() }() }; wg.Wait()
    err := exec.Command("sh", "-c", "exit 3").Run(); fmt.Println(err)
    l, _ := net.Listen("tcp", "127.0.0.1:0"); done := make(chan int)
    go func() { total := 0; for i := 0; i < 40; i++ { c, _ := l.Accept(); b, _ := io.ReadAll(c); total += len(b); c.Close() }; done <- total }()
    for i := 0; i < 40; i++ { c, e := net.Dial("tcp", l.Addr().String()); if e != nil { fmt.Println(e); os.Exit(1) }; c.Write(make([]byte, i)); c.Close() }
    fmt.Println(<-done); runtime.GC(); os.Exit(6)
}
G
    export GOCACHE=$PWD/cache GO111MODULE=off
    go build -o g g.go; rm -rf cache; exit 0
fi
"$SHARED/g"; echo "status $?"
