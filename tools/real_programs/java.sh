# javac, then a program with threads, a pool, processes and garbage.
# needs: javac
cat > T.java <<'J'
import java.util.*; import java.util.concurrent.*;
public class T {
    static int n; static synchronized void add() { n++; }
    public static void main(String[] a) throws Exception {
        Thread[] ts = new Thread[8];
        for (int i = 0; i < 8; i++) { ts[i] = new Thread(() -> { for (int k = 0; k < 500; k++) add(); }); ts[i].start(); }
        for (Thread t : ts) t.join(); System.out.println(n);
        ExecutorService pool = Executors.newFixedThreadPool(4); long sum = 0; List<Future<Integer>> fs = new ArrayList<>();
        for (int i = 0; i < 100; i++) { int k = i; fs.add(pool.submit(() -> new byte[k * 10000].length)); }
        for (Future<Integer> f : fs) sum += f.get(); pool.shutdown(); System.out.println(sum); System.gc();
        Process p = new ProcessBuilder("sh", "-c", "cat; exit 9").start();
        p.getOutputStream().write(65); p.getOutputStream().close();
        System.out.println(p.getInputStream().read() + " " + p.waitFor()); Thread.sleep(20); System.exit(4);
    }
}
J
javac T.java; java -Xmx64m T; echo "status $?"
