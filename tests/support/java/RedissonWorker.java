// SPDX-License-Identifier: MIT
// The other side of the histories beside Redisson: a process that takes one RLock, without a lease,
// so that its watchdog renews. Its arguments: the unix socket of the test, the server's address, the
// lock's name, and the watchdog's time-out in milliseconds. It obeys, one order a line, `take` and
// `free`, and answers each in one line.

import java.io.BufferedReader;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class RedissonWorker {
    public static void main(String[] arguments) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(arguments[1])
                .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        config.setLockWatchdogTimeout(Long.parseLong(arguments[3]));
        RedissonClient client = Redisson.create(config);
        RLock lock = client.getLock(arguments[2]);
        try (SocketChannel test = SocketChannel.open(UnixDomainSocketAddress.of(arguments[0]))) {
            BufferedReader orders =
                    new BufferedReader(Channels.newReader(test, StandardCharsets.UTF_8));
            for (String order; (order = orders.readLine()) != null; ) {
                String answer = obey(lock, order) + "\n";
                test.write(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)));
            }
        }
        client.shutdown();
    }

    private static String obey(RLock lock, String order) {
        try {
            if (order.equals("take")) {
                lock.lock();
                return "taken";
            }
            lock.unlock();
            return "freed";
        } catch (IllegalMonitorStateException why) {
            return "lost"; // somebody else has it, or nobody
        } catch (Exception why) {
            return "failed: " + why.getClass().getSimpleName();
        }
    }
}
