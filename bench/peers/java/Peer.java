// SPDX-License-Identifier: MIT

/** A client of a lock library: the part that the worker needs. */
interface Peer extends AutoCloseable {
    /** The lock on one name, owned by the thread that takes it. */
    interface Handle {
        void lock() throws Exception;

        boolean tryLock() throws Exception;

        void unlock() throws Exception;
    }

    Handle handle(String name);

    /** One more client of the same server, with its own connections. */
    Peer another() throws Exception;

    @Override
    void close();

    static Peer of(String library, String server) throws Exception {
        switch (library) {
            case "redisson":
                return new RedissonPeer(server);
            case "curator":
                return new CuratorPeer(server);
            default:
                throw new IllegalArgumentException("no such library: " + library);
        }
    }
}
