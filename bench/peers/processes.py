# SPDX-License-Identifier: MIT
"""Processes on their own CPU: the private servers, and the workers that take locks."""
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Process:
    """A program on one CPU. It ends when this script ends."""

    def __init__(self, command, cpu, **streams):
        pinned = ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(cpu), *map(str, command)]
        self.process = subprocess.Popen(pinned, **streams)

    def cpu_seconds(self):
        """CPU time so far, from clock_getcpuclockid(): /proc counts in steps of 10 ms only."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory_mb(self):
        """Its resident memory."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Worker(Process):
    """A process that takes locks, of Mortise or a peer: one command per line, one answer per line."""

    PATIENCE = 300  # seconds until an answer must come

    def __init__(self, command, cpu):
        super().__init__(command, cpu, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = "start"
        self.answer()

    def send(self, *words):
        self.last = " ".join(map(str, words))
        self.process.stdin.write(self.last + "\n")
        self.process.stdin.flush()

    def answer(self):
        output = self.process.stdout
        line = output.readline() if select.select([output], [], [], self.PATIENCE)[0] else ""
        if not line or line.startswith("error"):
            raise RuntimeError(f"{self.process.args}: {self.last}: {line.strip() or 'no answer'}")
        return line.strip()

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def end(self):
        """Lets it close its connections and sessions."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()


class Server(Process):
    """A private server on a free port of this machine, in memory."""

    PATIENCE = 30

    def __init__(self, cpu):
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = tempfile.mkdtemp(prefix="mortise-peers-", dir=memory)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        super().__init__(self.command(), cpu, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + self.PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.end()
                raise RuntimeError(f"does not start: {self.process.args}")
            time.sleep(0.05)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def end(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Redis(Server):
    """redis-server without persistence."""

    def command(self):
        return ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no", "--dir", self.folder]

    def ask(self, words):
        """The reply to an inline command, without its type and length."""
        with self.connect() as connection, connection.makefile("rwb") as stream:
            stream.write(words.encode() + b"\r\n")
            stream.flush()
            first = stream.readline().decode().strip()
            if first[:1] == "-":
                raise RuntimeError(f"{words}: {first}")
            return stream.read(int(first[1:])).decode() if first[:1] == "$" else first[1:]

    def info(self, section):
        lines = self.ask(f"info {section}").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def answers(self):
        try:
            return int(self.info("server")["process_id"]) == self.process.pid
        except (OSError, KeyError, ValueError, RuntimeError):
            return False

    def version(self):
        return "redis-server " + self.info("server")["redis_version"]

    # No script can call these, so each one was sent by a client.
    SENT = ("eval", "evalsha", "fcall", "script|load", "subscribe", "unsubscribe", "psubscribe",
            "punsubscribe", "ssubscribe", "sunsubscribe")

    def requests(self, also=()):
        """Number of commands that clients have sent for locks.
        @param also more commands; no script may use them during the count"""
        told = self.info("commandstats")
        calls = (told.get(f"cmdstat_{each}", "calls=0,") for each in (*self.SENT, *also))
        return sum(int(each.split(",")[0].partition("=")[2]) for each in calls)

    def memory(self):
        """Bytes, without the buffers of connections."""
        told = self.info("memory")
        return int(told["used_memory"]) - int(told["mem_clients_normal"])

    def flush(self):
        self.ask("flushall sync")


class ZooKeeper(Server):
    """Debian's ZooKeeper, standalone."""

    # Otherwise empty containers are removed every minute, which disturbs the next figures.
    FLAGS = ["-Xmx1g", "-XX:+UseSerialGC", "-Dzookeeper.jmx.log4j.disable=true",
             "-Dznode.container.checkIntervalMs=86400000"]
    JARS = "/usr/share/java/slf4j-nop.jar:/usr/share/java/zookeeper.jar"

    def command(self):
        settings = pathlib.Path(self.folder, "zoo.cfg")
        settings.write_text(
            f"tickTime=2000\ndataDir={self.folder}/data\nclientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=*\n")
        return ["java", *self.FLAGS, "-cp", self.JARS,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings]

    def ask(self, word):
        with self.connect() as connection:
            connection.sendall(word.encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def answers(self):
        try:
            return self.folder in self.ask("conf") and "Mode:" in self.ask("srvr")
        except OSError:
            return False

    def monitor(self):
        lines = self.ask("mntr").splitlines()
        return dict(line.split("\t", 1) for line in lines if "\t" in line)

    def version(self):
        return "ZooKeeper " + self.monitor()["zk_version"].split("-")[0]

    def requests(self, also=()):  # pylint: disable=unused-argument
        """Packets that clients have sent; each question like this one counts as one."""
        return int(self.monitor()["zk_packets_received"])

    def watches(self):
        return int(self.monitor()["zk_watch_count"])
