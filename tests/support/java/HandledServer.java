// SPDX-License-Identifier: MIT
// ZooKeeper's own standalone server with a handle: a unix socket that takes one order a connection
// and does what no client can ask for. `expire SESSION` ends a session as its expiry would;
// `sequence PATH NEXT` sets the number of the next sequential child.

import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Scanner;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ServerConfig;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

public final class HandledServer {
    private HandledServer() {}

    public static void main(String[] arguments) throws Exception {
        ServerConfig config = new ServerConfig();
        config.parse(arguments[1]);
        ZooKeeperServer server = start(config);
        Path path = Path.of(arguments[0]);
        path.toFile().delete();
        try (ServerSocketChannel handle = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            handle.bind(UnixDomainSocketAddress.of(path));
            while (true) {
                try (SocketChannel caller = handle.accept()) {
                    serve(server, caller);
                }
            }
        }
    }

    private static ZooKeeperServer start(ServerConfig config) throws Exception {
        FileTxnSnapLog files = new FileTxnSnapLog(config.getDataLogDir(), config.getDataDir());
        ZooKeeperServer server = new ZooKeeperServer(
                files, config.getTickTime(), config.getMinSessionTimeout(),
                config.getMaxSessionTimeout(), config.getClientPortListenBacklog(), null, "");
        ServerCnxnFactory connections = ServerCnxnFactory.createFactory();
        connections.configure(config.getClientPortAddress(), config.getMaxClientCnxns(),
                config.getClientPortListenBacklog(), false);
        connections.startup(server);
        return server;
    }

    private static void serve(ZooKeeperServer server, SocketChannel caller) throws Exception {
        Scanner words = new Scanner(
                new Scanner(Channels.newReader(caller, StandardCharsets.UTF_8)).nextLine());
        String answer;
        try {
            obey(server, words);
            answer = "done\n";
        } catch (RuntimeException why) {
            answer = why + "\n";
        }
        caller.write(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)));
    }

    private static void obey(ZooKeeperServer server, Scanner words) {
        switch (words.next()) {
            case "expire":
                server.closeSession(words.nextLong());
                break;
            case "sequence":
                DataNode node = server.getZKDatabase().getNode(words.next());
                synchronized (node) {
                    node.stat.setCversion(words.nextInt());
                }
                break;
            default:
                throw new IllegalArgumentException("no such order");
        }
    }
}
