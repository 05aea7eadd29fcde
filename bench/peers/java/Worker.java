// SPDX-License-Identifier: MIT

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A process that takes locks with a peer of Mortise. Its arguments are the library and the server. It reads
 * commands from standard input, one per line, and answers each in one line. ../cpp/worker.cpp describes them.
 */
public final class Worker {
    private static final long HOLD_MS = 1;

    private final Peer peer;
    private final List<Peer.Handle> held = new ArrayList<>();
    private final List<Peer> rivals = new ArrayList<>();

    private Worker(Peer peer) {
        this.peer = peer;
    }

    public static void main(String[] arguments) {
        try {
            Worker worker = new Worker(Peer.of(arguments[0], arguments[1]));
            System.out.println("ready");
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
            for (String line; (line = orders.readLine()) != null; ) {
                System.out.println(worker.obey(new Scanner(line)));
            }
            worker.peer.close();
            System.exit(0);
        } catch (Throwable why) {
            System.out.println("error " + why);
            System.exit(1);
        }
    }

    private String obey(Scanner order) throws Exception {
        switch (order.next()) {
            case "cycles":
                return cycles(order);
            case "tries":
                return tries(order);
            case "threads":
                return threads(order);
            case "hold":
                return hold(order);
            case "drop":
                return drop(order);
            case "refused":
                return refused(order);
            case "rivals":
                return rivals(order);
            case "contend":
                return contend(order);
            case "relay":
                return relay(order);
            default:
                throw new IllegalArgumentException("no such order");
        }
    }

    private static String nameOf(String prefix, int number) {
        String digits = Integer.toString(1_000_000 + number).substring(1);
        return prefix + "-" + digits;
    }

    private interface Call {
        void run() throws Exception;
    }

    private static String times(int warm, int count, Call call) throws Exception {
        long[] taken = new long[count];
        for (int i = 0; i < warm + count; ++i) {
            long begin = System.nanoTime();
            call.run();
            if (i >= warm) {
                taken[i - warm] = System.nanoTime() - begin;
            }
        }
        StringBuilder text = new StringBuilder();
        for (long each : taken) {
            text.append(each).append(' ');
        }
        return text.toString();
    }

    private String cycles(Scanner order) throws Exception {
        Peer.Handle lock = peer.handle(nameOf(order.next(), 0));
        return times(order.nextInt(), order.nextInt(), () -> {
            lock.lock();
            lock.unlock();
        });
    }

    private String tries(Scanner order) throws Exception {
        Peer.Handle lock = peer.handle(nameOf(order.next(), 0));
        return times(order.nextInt(), order.nextInt(), () -> {
            if (lock.tryLock()) {
                throw new IllegalStateException("a try took a lock that somebody holds");
            }
        });
    }

    /** Starts a thread that repeats a call until `over`; a failure ends the process. */
    private static Thread repeat(AtomicBoolean over, Call call) {
        Thread thread = new Thread(() -> {
            try {
                while (!over.get()) {
                    call.run();
                }
            } catch (Exception why) {
                System.out.println("error " + why);
                System.exit(1);
            }
        });
        thread.start();
        return thread;
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private String threads(Scanner order) throws Exception {
        String prefix = order.next();
        int count = order.nextInt();
        int warm = order.nextInt();
        int time = order.nextInt();
        AtomicBoolean over = new AtomicBoolean();
        AtomicLong cycles = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; ++i) {
            Peer.Handle lock = peer.handle(nameOf(prefix, i));
            threads.add(repeat(over, () -> {
                lock.lock();
                lock.unlock();
                cycles.incrementAndGet();
            }));
        }
        Thread.sleep(warm);
        long before = cycles.get();
        long begin = System.nanoTime();
        Thread.sleep(time);
        double done = cycles.get() - before;
        double seconds = (System.nanoTime() - begin) / 1e9;
        over.set(true);
        join(threads);
        return Double.toString(done / seconds);
    }

    private String hold(Scanner order) throws Exception {
        String prefix = order.next();
        int from = order.nextInt();
        int to = order.nextInt();
        long begin = System.nanoTime();
        for (int i = from; i < to; ++i) {
            Peer.Handle lock = peer.handle(nameOf(prefix, i));
            lock.lock();
            held.add(lock);
        }
        return Double.toString((System.nanoTime() - begin) / 1e9);
    }

    /** Redisson and Curator throw if a lost lock is unlocked. */
    private String drop(Scanner order) throws Exception {
        for (int left = order.nextInt(); left > 0; --left) {
            held.remove(held.size() - 1).unlock();
        }
        return "done";
    }

    private String refused(Scanner order) throws Exception {
        String prefix = order.next();
        int from = order.nextInt();
        int to = order.nextInt();
        int step = order.nextInt();
        int count = 0;
        for (int i = from; i < to; i += step) {
            Peer.Handle lock = peer.handle(nameOf(prefix, i));
            if (lock.tryLock()) {
                lock.unlock();
            } else {
                ++count;
            }
        }
        return Integer.toString(count);
    }

    private String rivals(Scanner order) throws Exception {
        String name = nameOf(order.next(), 0);
        int count = order.nextInt();
        for (Peer rival : rivals) {
            rival.close();
        }
        rivals.clear();
        for (int i = 0; i < count; ++i) {
            rivals.add(peer.another());
            Peer.Handle lock = rivals.get(i).handle(name);
            lock.lock();
            lock.unlock();
        }
        return "done";
    }

    private String contend(Scanner order) throws Exception {
        String name = nameOf(order.next(), 0);
        int time = order.nextInt();
        AtomicBoolean over = new AtomicBoolean();
        AtomicLong grants = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (Peer rival : rivals) {
            Peer.Handle lock = rival.handle(name);
            threads.add(repeat(over, () -> {
                lock.lock();
                grants.incrementAndGet();
                Thread.sleep(HOLD_MS);
                lock.unlock();
                Thread.sleep(HOLD_MS);
            }));
        }
        Thread.sleep(time);
        over.set(true);
        join(threads);
        return Long.toString(grants.get());
    }

    private String relay(Scanner order) throws Exception {
        Peer.Handle lock = peer.handle(nameOf(order.next(), 0));
        int side = order.nextInt();
        int turns = order.nextInt();
        new Relay(Path.of(order.next()), side, turns).run(lock);
        return "done";
    }
}
