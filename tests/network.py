"""Two or three hosts for tests, on this machine: namespaces of the kernel, with networks between them.

Call contain() first: it restarts the test in namespaces where it sees only its own network and processes. All processes
that the test starts there end with it, however it ends: when the first process of a pid namespace, the test, is gone,
the kernel kills the others. Each host has its own name, network and shared memory; the files are those of the machine.
"""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

NEAR, FAR, THIRD = "near", "far", "third"  # mpirun runs on the near host, as rank 0 does
CONTAINED = "contained"
ADDRESS = {("fast", NEAR): "10.78.1.1", ("fast", FAR): "10.78.1.2", ("slow", NEAR): "10.78.2.1",
           ("slow", FAR): "10.78.2.2", ("fast", THIRD): "10.78.1.3"}
TOOLS = ("unshare", "nsenter", "mount", "hostname", "ip")
os.environ["PATH"] += ":/usr/sbin:/sbin"


def contain():
    """Restarts the program in new namespaces, where this returns None; returns the reason if that is not possible."""
    if sys.argv[-1] == CONTAINED:
        # the first process of a pid namespace receives only signals that it handles
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        do("ip", "link", "set", "lo", "up")
        return None
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"no {missing[0]}"
    mpirun = os.environ.get("MPIRUN", "mpirun").split()
    version = subprocess.run([*mpirun, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    if "(Open MPI) 4." not in version:
        return "only Open MPI 4's mpirun is known here"
    # another user than root may become root in a user namespace, if the system allows it
    wall = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net", "--pid", "--mount", "--mount-proc",
            "--fork", "--kill-child"]
    all_that_is_needed = ("mount --bind /etc/hosts /etc/hosts && unshare --net --uts --ipc --mount hostname far &&"
                          "ip link add near type veth peer name far &&"
                          "exec \"$0\" -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'")
    tried = subprocess.run([*wall, "sh", "-c", all_that_is_needed, sys.executable], capture_output=True, text=True)
    if tried.returncode != 0:
        return "no namespaces: " + (tried.stderr.strip().split("\n")[-1] or f"exit status {tried.returncode}")
    sys.stdout.flush()
    os.execvp(wall[0], [*wall, sys.executable, *sys.argv, CONTAINED])


def do(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def bytes_per_exchange(net, run):
    """(bytes that cross between hosts for one exchange, result of the last run): the difference of the interfaces' counters
    for many and for few products. run(repeat) runs spmm_mpi, which does two exchanges per repetition: one in a product and
    one alone (it also times a product without an exchange)."""
    few, many, sent = 2, 22, []
    for repeat in (few, many):
        before = net.bytes_sent()
        result = run(repeat)
        sent.append(net.bytes_sent() - before)
    return (sent[1] - sent[0]) / (2 * (many - few)), result


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.02)


class Host:
    def __init__(self, name, folder):
        """Starts a sleeping process that keeps the namespaces."""
        setup = f"hostname {name} && mount --bind {folder}/hosts /etc/hosts && ip link set lo up && echo up"
        self.keeper = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c",
                                        setup + " && exec sleep 1d"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "up\n", f"host {name} did not start"
        self.name, self.pid = name, str(self.keeper.pid)

    def enter(self, *command):
        """The command that runs `command` on the host, in the current folder."""
        return ["nsenter", "-t", self.pid, "--net", "--uts", "--ipc", "--mount", "env", "-C", os.getcwd(), *command]

    def do(self, *command):
        return do(*self.enter(*command))

    def processes(self, *names):
        """The ids of the host's running processes with these names."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                there = os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{self.pid}/ns/net")
                if there and os.path.basename(os.readlink(f"/proc/{pid}/exe")) in names:
                    found.append(int(pid))
            except OSError:  # the process has ended meanwhile
                pass
        return found


class Network:
    """with Network(folder) as net: two hosts and, between them, the networks `fast` and `slow` (5 ms, 1 % lost).
    Network(folder, hosts=3) has a third host, and `fast` alone."""

    def __init__(self, folder, delay=0.005, loss=0.01, hosts=2):
        self.folder = folder
        with open(os.path.join(folder, "hosts"), "w") as f:
            f.write("127.0.0.1 localhost\n" +
                    "".join(f"{ADDRESS['fast', name]} {name}\n" for name in (NEAR, FAR, THIRD)))
        self.hosts = [Host(name, folder) for name in (NEAR, FAR, THIRD)[:hosts]]
        self.near, self.far = self.hosts[:2]
        self.slow_wire = None
        if hosts == 2:
            do("ip", "link", "add", "fast", "netns", self.near.pid, "type", "veth", "peer", "name", "fast", "netns",
               self.far.pid)
        else:
            self.bridge()
        for host in self.hosts:
            self.plug_in(host, "fast")
        if hosts == 2:
            self.add_slow_wire(delay, loss)
        self.agent = os.path.join(folder, "agent")
        with open(self.agent, "w") as f:
            f.write(self.remote_shell())
        os.chmod(self.agent, 0o700)

    @staticmethod
    def plug_in(host, wire):
        host.do("ip", "address", "add", ADDRESS[wire, host.name] + "/24", "dev", wire)
        host.do("ip", "link", "set", wire, "up")

    def bridge(self):
        """Connects more than two hosts: each has a cable to a switch, which is in the test's namespace."""
        do("ip", "link", "add", "switch", "type", "bridge")
        do("ip", "link", "set", "switch", "up")
        for host in self.hosts:
            do("ip", "link", "add", host.name, "type", "veth", "peer", "name", "fast", "netns", host.pid)
            do("ip", "link", "set", host.name, "master", "switch", "up")

    def add_slow_wire(self, delay, loss):
        for host in self.hosts:
            do("ip", "link", "add", host.name, "type", "veth", "peer", "name", "slow", "netns", host.pid)
            do("ip", "link", "set", host.name, "up")
            self.plug_in(host, "slow")
        slow_wire = os.path.join(os.path.dirname(__file__), "slow_wire.py")
        self.slow_wire = subprocess.Popen([sys.executable, slow_wire, NEAR, FAR, str(delay), str(loss)],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.slow_wire.stdout.readline() == "up\n", "the slow wire did not start"

    def bytes_sent(self):
        """Bytes that all hosts have sent through their interfaces `fast`, by the kernel's counters."""
        return sum(json.loads(host.do("ip", "-s", "-j", "link", "show", "dev", "fast"))[0]["stats64"]["tx"]["bytes"]
                   for host in self.hosts)

    def remote_shell(self):
        """A script that mpirun uses in place of ssh: AGENT HOST COMMAND... Like ssh it does not pass on the environment."""
        keep = " ".join(f'${{{name}:+{name}="${name}"}}' for name in ("PATH", "HOME", "LD_LIBRARY_PATH"))
        pids = "".join(f"{host.name}) pid={host.pid} ;;\n" for host in self.hosts)
        return (f"#!/bin/sh\ncase $1 in\n{pids}*) exit 255 ;;\nesac\nshift\n"
                f'exec nsenter -t $pid --net --uts --ipc --mount env -i {keep} TMPDIR={self.folder} sh -c "$*"\n')

    def launcher(self, mpirun, ranks, wire="fast", mca=(), pass_on=(), each=None):
        """The command that starts `ranks` ranks, the first ones on the near host, equally many on each host, which
        communicate through that wire. each: their number per host, if `ranks` is a variable of a shell."""
        each = each or math.ceil(ranks / len(self.hosts))
        options = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "btl_tcp_if_include": wire,
                   "oob_tcp_if_include": wire, **dict(mca)}
        pass_on = {*pass_on, *(name for name in os.environ if re.fullmatch("(A|L|UB)SAN_OPTIONS", name))}
        # (killed daemons leave their folders in TMPDIR)
        return self.near.enter(f"TMPDIR={self.folder}", *mpirun, "-np", str(ranks),
                               "--host", ",".join(f"{host.name}:{each}" for host in self.hosts),
                               *(word for pair in options.items() for word in ("--mca", *map(str, pair))),
                               *(word for name in pass_on for word in ("-x", name)))

    def cut(self, wire):
        self.far.do("ip", "link", "set", wire, "down")

    def slow_traffic(self):
        """Ends the slow wire. Returns (frames carried, frames lost)."""
        words = self.slow_wire.communicate("")[0].split()
        return int(words[1]), int(words[3])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the hosts with all that runs there."""
        if self.slow_wire:
            self.slow_wire.kill()
        else:
            do("ip", "link", "delete", "switch")
        for host in self.hosts:
            for pid in host.processes("mpirun", "orterun", "orted", "spmm_mpi"):
                os.kill(pid, signal.SIGKILL)
            # a network disappears some time after its host: its interface would clash with the next one's
            do("ip", "link", "delete", host.name)
            host.keeper.kill()
            host.keeper.wait()
