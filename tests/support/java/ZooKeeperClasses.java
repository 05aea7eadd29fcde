// SPDX-License-Identifier: MIT
// Runs a ZooKeeper for one client, and ends. A JVM with -XX:ArchiveClassesAtExit then writes an archive of the classes
// that this needed. A server that starts with the archive neither parses nor verifies them again.

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

public final class ZooKeeperClasses {
    private ZooKeeperClasses() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("mortise-zookeeper");
        try {
            int port = freePort();
            Path configuration = folder.resolve("zoo.cfg");
            Files.write(configuration, List.of(
                    "tickTime=200", "dataDir=" + folder.resolve("data"), "clientPort=" + port,
                    "clientPortAddress=127.0.0.1", "admin.enableServer=false"));
            Thread server = new Thread(() -> QuorumPeerMain.main(new String[] {configuration.toString()}));
            server.setDaemon(true);
            server.start();
            use(port);
        } finally {
            remove(folder);
        }
        System.exit(0);
    }

    private static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            return socket.getLocalPort();
        }
    }

    private static void use(int port) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        try (ZooKeeper client = new ZooKeeper("127.0.0.1:" + port, 10_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) connected.countDown();
        })) {
            if (!connected.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("no server");
            client.create("/parent", new byte[1], Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER);
            String child = client.create(
                    "/parent/child-", new byte[1], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
            client.exists(child, true);
            client.getChildren("/parent", true);
            client.setData(child, new byte[2], -1);
            client.delete(child, -1);
        }
    }

    private static void remove(Path folder) throws Exception {
        try (var all = Files.walk(folder)) {
            all.sorted((one, other) -> other.compareTo(one)).forEach(path -> path.toFile().delete());
        }
    }
}
