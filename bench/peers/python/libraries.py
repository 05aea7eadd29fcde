# SPDX-License-Identifier: MIT
"""redis-py and kazoo: the part that the worker needs. ../java/Peer.java is the same.

Each is used as its documentation describes. redis-py's lock has the same lease as the others: by
default it has none, so the lock of a crashed holder would never end."""

LEASE_S = 30
SESSION_S = 10


class RedisPyHandle:
    def __init__(self, client, name):
        self.inner = client.make_lock(name, timeout=LEASE_S)
        self.lock = self.inner.acquire
        self.unlock = self.inner.release

    def try_lock(self):
        return self.inner.acquire(blocking=False)


class RedisPy:
    """A thread takes a connection from the client's pool for each command."""

    period_s = 0.1  # `sleep` of redis.lock.Lock

    def __init__(self, where):
        import redis
        self.where = where
        self.client = redis.Redis.from_url(where)
        self.client.ping()

    def handle(self, name):
        return RedisPyHandle(self.client, name)

    def another(self):
        return RedisPy(self.where)

    def close(self):
        self.client.close()


class KazooHandle:
    def __init__(self, client, path):
        self.inner = client.Lock(path)
        self.lock = self.inner.acquire

    def unlock(self):
        if not self.inner.release():
            raise RuntimeError("a hold was lost")

    def try_lock(self):
        return self.inner.acquire(blocking=False)


class Kazoo:
    period_s = 0  # a watch wakes it

    def __init__(self, where):
        import kazoo.client
        self.where = where
        server, _, root = where.partition("/")
        self.root = f"/{root}/"
        self.client = kazoo.client.KazooClient(hosts=server, timeout=SESSION_S)
        self.client.start()

    def handle(self, name):
        return KazooHandle(self.client, self.root + name)

    def another(self):
        return Kazoo(self.where)

    def close(self):
        self.client.stop()
        self.client.close()


LIBRARIES = {"redis-py": RedisPy, "kazoo": Kazoo}
