// SPDX-License-Identifier: MIT

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** One side of a hand-over between two processes. ../cpp/relay.hpp describes the board. */
final class Relay {
    private static final VarHandle WORDS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int FAILED = 0;
    private static final int GIVEN_AT = 1;
    private static final int TURNS = 2;
    private static final int COMING = 3;
    private static final int TAKEN = 5;
    private static final long LOOK_AGAIN_NS = 100_000;
    private static final long REST_NS = 3_000_000;
    private static final long PATIENCE_NS = 10_000_000_000L;

    private final ByteBuffer board;
    private final int side;
    private final int turns;

    Relay(Path path, int side, int turns) throws IOException {
        try (FileChannel file = FileChannel.open(
                path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            board = file.map(FileChannel.MapMode.READ_WRITE, 0, 8L * (TAKEN + turns));
        }
        this.side = side;
        this.turns = turns;
    }

    void run(Peer.Handle lock) throws Exception {
        boolean holds = false;
        try {
            if (side == 1) {
                waitUntil(() -> get(TURNS) > 0);
            }
            for (int turn = side; turn < turns; turn += 2) {
                set(COMING + side, 1);
                lock.lock();
                set(TAKEN + turn, System.nanoTime() - get(GIVEN_AT));
                holds = true;
                set(COMING + side, 0);
                set(TURNS, turn + 1);
                boolean last = turn + 1 == turns;
                if (!last) {
                    waitUntil(() -> get(COMING + 1 - side) != 0);
                    LockSupport.parkNanos(REST_NS);
                }
                holds = false;
                set(GIVEN_AT, System.nanoTime());
                lock.unlock();
                if (!last) {
                    long begun = turn + 1;
                    waitUntil(() -> get(TURNS) > begun);
                }
            }
        } catch (Exception why) {
            set(FAILED, 1);
            if (holds) {
                lock.unlock(); // or the other side would wait without end
            }
            throw why;
        }
    }

    private void waitUntil(BooleanSupplier condition) {
        long begin = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (get(FAILED) != 0) {
                throw new IllegalStateException("the other side failed");
            }
            if (System.nanoTime() - begin > PATIENCE_NS) {
                throw new IllegalStateException("nobody comes");
            }
            LockSupport.parkNanos(LOOK_AGAIN_NS);
        }
    }

    private long get(int word) {
        return (long) WORDS.getVolatile(board, 8 * word);
    }

    private void set(int word, long value) {
        WORDS.setVolatile(board, 8 * word, value);
    }
}
