// SPDX-License-Identifier: MIT

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's InterProcessMutex, with the session timeout of Mortise, so that a crash costs both the same. */
final class CuratorPeer implements Peer {
    private static final int SESSION_MS = 10_000;

    private final String server;
    private final String root;
    private final CuratorFramework client;

    /** @param server host, port and parent path of the locks: 127.0.0.1:2181/locks */
    CuratorPeer(String server) throws Exception {
        this.server = server;
        int slash = server.indexOf('/');
        root = server.substring(slash) + "/";
        client = CuratorFrameworkFactory.newClient(
                server.substring(0, slash), SESSION_MS, SESSION_MS,
                new ExponentialBackoffRetry(1_000, 3));
        client.start();
        if (!client.blockUntilConnected(10, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to ZooKeeper");
        }
    }

    @Override
    public Handle handle(String name) {
        InterProcessMutex mutex = new InterProcessMutex(client, root + name);
        return new Handle() {
            @Override
            public void lock() throws Exception {
                mutex.acquire();
            }

            @Override
            public boolean tryLock() throws Exception {
                return mutex.acquire(0, TimeUnit.MILLISECONDS);
            }

            @Override
            public void unlock() throws Exception {
                mutex.release();
            }
        };
    }

    @Override
    public Peer another() throws Exception {
        return new CuratorPeer(server);
    }

    @Override
    public void close() {
        client.close();
    }
}
