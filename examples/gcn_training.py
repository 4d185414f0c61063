"""A graph convolution network of two layers in training: softmax(A relu(A X W0) W1), on any MPI ranks, with PyTorch.

    mpirun -np 4 python gcn_training.py [VERTICES [EPOCHS [DEVICE [BACKEND]]]]

It needs the package spmm_mpi (docs/PYTHON.md) and PyTorch. DEVICE is cpu or cuda. The network is compiled, forward and backward, by BACKEND of
torch.compile (inductor); none: it is not. Vertices are distributed by rows, and weights are on every rank. A is the normalized
adjacency matrix (Kipf and Welling, ICLR 2017) of a made-up graph of 4 classes, whose vertices have more neighbors in their own class. The
features X alone predict the class badly. A tenth of the vertices is labeled. The forward and backward products exchange rows between ranks.
The gradients of the weights are summed over the ranks in a fixed order, so each run on the same number of ranks ends with the same bits of
the weights; the last line shows a hash of them. Exit status: 0 if at least 80 percent of the other vertices are classified correctly, and
the weights are the same on all ranks; else 1."""
import hashlib
import sys

import numpy as np
import scipy.sparse
import torch
from mpi4py import MPI

import spmm_mpi
import spmm_mpi.torch as layers

CLASSES, FEATURES, HIDDEN = 4, 16, 16
comm = MPI.COMM_WORLD


def made_up(vertices):
    """(A, X, classes), the same on every rank."""
    rng = np.random.default_rng(1)
    classes = rng.integers(CLASSES, size=vertices)
    ends = rng.integers(vertices, size=(2, 24 * vertices))
    near = classes[ends[0]] == classes[ends[1]]
    ends = ends[:, near | (rng.random(ends.shape[1]) < 0.15)]
    ones = scipy.sparse.coo_matrix((np.ones(ends.shape[1]), ends), shape=(vertices, vertices)).tocsr()
    a = ((ones + ones.T + scipy.sparse.identity(vertices)) > 0).astype(np.float64)
    d = scipy.sparse.diags(1 / np.sqrt(np.asarray(a.sum(axis=1)).ravel()))
    x = rng.standard_normal((vertices, FEATURES))
    x[np.arange(vertices), classes] += 0.5
    return (d @ a @ d).astype(np.float32), x.astype(np.float32), classes


def main():
    vertices = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
    backend = sys.argv[4] if len(sys.argv) > 4 else "inductor"
    a, x, classes = made_up(vertices)
    with spmm_mpi.Plan(comm, a if comm.rank == 0 else None, device=device) as plan:
        if device == "cuda":
            torch.cuda.set_device(comm.Split_type(MPI.COMM_TYPE_SHARED).rank % torch.cuda.device_count())
        own = plan.x_range
        x, classes = torch.from_numpy(x[own]).to(device), torch.from_numpy(classes[own]).to(device)
        labeled = torch.arange(own.start, own.stop, device=device) % 10 == 0
        torch.manual_seed(1)  # the same weights on every rank
        weights = [(torch.rand(shape) - 0.5).to(device).requires_grad_() for shape in ((FEATURES, HIDDEN), (HIDDEN, CLASSES))]
        optimizer = torch.optim.Adam(weights, lr=0.02)

        def network(w0, w1):
            hidden = torch.relu(layers.matmul(plan, layers.linear(plan, x, w0), symmetric=True))
            return layers.matmul(plan, layers.linear(plan, hidden, w1), symmetric=True)

        if backend != "none":
            network = torch.compile(network, fullgraph=True, backend=backend)

        for epoch in range(epochs):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(*weights)[labeled], classes[labeled], reduction="sum") / ((vertices + 9) // 10)
            loss.backward()  # collective
            optimizer.step()
        right = (network(*weights).argmax(1) == classes)[~labeled].sum().item()
        share = comm.allreduce(right) / (vertices - (vertices + 9) // 10)
        bits = hashlib.sha256(b"".join(w.detach().cpu().numpy().tobytes() for w in weights)).hexdigest()
        alike = len(set(comm.allgather(bits))) == 1
        total = comm.allreduce(loss.item())
    if comm.rank == 0:
        print(f"{vertices} vertices, {epochs} epochs, {comm.size} ranks: loss {total:.4f}, {100 * share:.1f} % of the classes")
        print(f"weights {bits[:16]}{'' if alike else ', NOT the same on all ranks'}")
    return 0 if share >= 0.8 and alike else 1


if __name__ == "__main__":
    sys.exit(main())
