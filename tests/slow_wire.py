"""A slow wire that loses frames, between two network interfaces: a replacement of tc's netem, which many kernels
(of virtual machines, mostly) are built without.

    slow_wire.py LEFT RIGHT DELAY LOSS     seconds, and fraction of lost frames; prints `up`, and at the end of its
                                           input the numbers of frames that it carried and lost
"""
import collections
import random
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 15, 23, 3


def end(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # receive and send each frame with the kernel's header on the work that is left to the hardware
    # (checksums, segmentation): without it frames would arrive with checksums that were never computed
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    s.bind((interface, ETH_P_ALL))
    return s


def carry(left, right, delay, loss):
    other = {left: right, right: left}
    late = collections.deque()  # (when, to, frame), in order of time: all have the same delay
    chance = random.Random(1)  # the same frames are lost in every run
    carried = lost = 0
    while True:
        wait = max(0, late[0][0] - time.monotonic()) if late else None
        for ready in select.select([left, right, sys.stdin], [], [], wait)[0]:
            if ready is sys.stdin:
                return carried, lost
            frame = ready.recv(1 << 17)
            if chance.random() < loss:
                lost += 1
            else:
                late.append((time.monotonic() + delay, other[ready], frame))
        while late and late[0][0] <= time.monotonic():
            _, to, frame = late.popleft()
            try:
                to.send(frame)
                carried += 1
            except OSError:  # that end is down, or its queue is full: the frame is lost
                lost += 1


ends = end(sys.argv[1]), end(sys.argv[2])
print("up", flush=True)
print("carried {} lost {}".format(*carry(*ends, float(sys.argv[3]), float(sys.argv[4]))))
