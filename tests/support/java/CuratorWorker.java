// SPDX-License-Identifier: MIT
// The other side of the interoperability tests: a process that takes locks by Apache Curator's
// InterProcessMutex, either lock of its InterProcessReadWriteLock (the fourth argument: `mutex`,
// `read`, `write`), or permits of its InterProcessSemaphoreV2 (a number). It connects to the unix
// socket of the test and obeys, one order a line: `take`, `try MILLISECONDS`, `free`, `cycle TIMES
// FILE [PLACES]`; it answers each in one line. The last argument is the session's time-out.

import java.io.BufferedReader;
import java.io.File;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public final class CuratorWorker {
    /** What all of them can do. */
    private interface Lockable {
        void acquire() throws Exception;

        boolean acquire(long time, TimeUnit unit) throws Exception;

        void release() throws Exception;
    }

    private static Lockable of(InterProcessMutex mutex) {
        return new Lockable() {
            @Override
            public void acquire() throws Exception {
                mutex.acquire();
            }

            @Override
            public boolean acquire(long time, TimeUnit unit) throws Exception {
                return mutex.acquire(time, unit);
            }

            @Override
            public void release() throws Exception {
                mutex.release();
            }
        };
    }

    private static Lockable of(InterProcessSemaphoreV2 semaphore) {
        return new Lockable() {
            private Lease lease;

            @Override
            public void acquire() throws Exception {
                lease = semaphore.acquire();
            }

            @Override
            public boolean acquire(long time, TimeUnit unit) throws Exception {
                lease = semaphore.acquire(time, unit);
                return lease != null;
            }

            @Override
            public void release() throws Exception {
                lease.close();
            }
        };
    }

    private static Lockable of(CuratorFramework client, String path, String kind) {
        switch (kind) {
            case "mutex":
                return of(new InterProcessMutex(client, path));
            case "read":
                return of(new InterProcessReadWriteLock(client, path).readLock());
            case "write":
                return of(new InterProcessReadWriteLock(client, path).writeLock());
            default:
                return of(new InterProcessSemaphoreV2(client, path, Integer.parseInt(kind)));
        }
    }

    private final Lockable mutex;

    private CuratorWorker(Lockable mutex) {
        this.mutex = mutex;
    }

    public static void main(String[] arguments) throws Exception {
        try (SocketChannel test = SocketChannel.open(UnixDomainSocketAddress.of(arguments[0]));
                CuratorFramework client = CuratorFrameworkFactory.newClient(
                        arguments[1], Integer.parseInt(arguments[5]), 20_000,
                        new RetryOneTime(100))) {
            client.start();
            CuratorWorker worker =
                    new CuratorWorker(of(client, arguments[2], arguments[3]));
            BufferedReader orders =
                    new BufferedReader(Channels.newReader(test, StandardCharsets.UTF_8));
            for (String order; (order = orders.readLine()) != null; ) {
                String answer;
                try {
                    answer = worker.obey(order.split(" "));
                } catch (Exception why) {
                    answer = "failed: " + why.getClass().getSimpleName();
                }
                test.write(ByteBuffer.wrap((answer + "\n").getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    private String obey(String[] order) throws Exception {
        switch (order[0]) {
            case "take":
                mutex.acquire();
                return "taken";
            case "try":
                return mutex.acquire(Long.parseLong(order[1]), TimeUnit.MILLISECONDS)
                        ? "taken" : "busy";
            case "free":
                mutex.release();
                return "freed";
            case "cycle":
                return cycle(Integer.parseInt(order[1]), order[2],
                        order.length > 3 ? Integer.parseInt(order[3]) : 1);
            default:
                return "unknown";
        }
    }

    /** A file is there exactly while somebody holds it, one for each; another one counts them. */
    private String cycle(int times, String inside, int places) throws Exception {
        for (int i = 0; i < times; ++i) {
            mutex.acquire();
            File place = enter(inside, places);
            Files.write(Path.of(inside + ".count"), new byte[1],
                    StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            boolean alone = place != null && place.delete();
            mutex.release();
            if (!alone) {
                return "overlap";
            }
        }
        return "done";
    }

    /** Null: all places are taken. */
    private static File enter(String inside, int places) throws Exception {
        for (int i = 0; i < places; ++i) {
            File place = new File(i == 0 ? inside : inside + "." + i);
            if (place.createNewFile()) {
                return place;
            }
        }
        return null;
    }
}
