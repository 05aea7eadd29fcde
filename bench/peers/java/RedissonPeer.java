// SPDX-License-Identifier: MIT

import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson with its defaults: without a lease, so that its watchdog renews each lock. */
final class RedissonPeer implements Peer {
    private final String url;
    private final RedissonClient client;

    RedissonPeer(String url) {
        this.url = url;
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        client = Redisson.create(config);
    }

    @Override
    public Handle handle(String name) {
        RLock lock = client.getLock(name);
        return new Handle() {
            @Override
            public void lock() {
                lock.lock();
            }

            @Override
            public boolean tryLock() {
                return lock.tryLock();
            }

            @Override
            public void unlock() {
                lock.unlock();
            }
        };
    }

    @Override
    public Peer another() {
        return new RedissonPeer(url);
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
