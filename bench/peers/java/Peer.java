// SPDX-License-Identifier: MIT

/** A client of a library that locks: what the worker needs of it. */
interface Peer extends AutoCloseable {
    /** The lock on one name, owned by the thread that takes it. */
    interface Handle {
        void lock() throws Exception;

        boolean tryLock() throws Exception;

        void unlock() throws Exception;
    }

    Handle handle(String name);

    /** A further client of the same server, with connections of its own. */
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
