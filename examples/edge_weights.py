"""A graph network that learns the weights of the edges, with PyTorch: softmax(A(w) X W), in one process.

    python edge_weights.py [VERTICES [EPOCHS [DEVICE [BACKEND]]]]

It needs the package spmm_mpi (docs/PYTHON.md) and PyTorch. DEVICE is cpu or cuda. The network is compiled, forward and backward, by BACKEND of
torch.compile (inductor); none: it is not. A made-up graph has vertices of 4 classes. Half of its edges begin at a vertex of the class of their
end, the other half anywhere. The network learns the classes of the vertices, and with them a weight for each edge: the gradient of the weights
is computed for the edges only, never as a dense matrix. Exit status: 0 if the mean weight of edges within a class is at least 1.3 times the mean
weight of the others; else 1."""
import hashlib
import sys

import torch

import spmm_mpi.torch as layers

CLASSES, FEATURES, EDGES = 4, 16, 8


def made_up(vertices):
    """(edge_index, X, classes)"""
    random = torch.Generator().manual_seed(1)
    classes = torch.randint(CLASSES, (vertices,), generator=random)
    order = torch.argsort(classes, stable=True)  # vertices of a class are consecutive here
    begin = torch.searchsorted(classes[order], torch.arange(CLASSES + 1))
    ends = torch.arange(vertices).repeat_interleave(EDGES)
    near = begin[classes[ends]] + (torch.rand(len(ends), generator=random) * begin.diff()[classes[ends]]).long()
    anywhere = torch.randint(vertices, (len(ends),), generator=random)
    starts = torch.where(torch.arange(len(ends)) % 2 == 0, order[near], anywhere)
    x = torch.randn(vertices, FEATURES, generator=random)
    x[torch.arange(vertices), classes] += 1
    return torch.stack([starts, ends]), x, classes


def main():
    vertices = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
    backend = sys.argv[4] if len(sys.argv) > 4 else "inductor"
    edge_index, x, classes = (tensor.to(device) for tensor in made_up(vertices))
    pattern = layers.Pattern(edge_index, (vertices, vertices))
    torch.manual_seed(1)
    w = ((torch.rand(FEATURES, CLASSES) - 0.5) / 4).to(device).requires_grad_()
    logits = torch.zeros(pattern.entries, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([w, logits], lr=0.05)

    def loss_of(w, logits, x, classes):
        return torch.nn.functional.cross_entropy(layers.matmul(pattern, x @ w, torch.sigmoid(logits)), classes)

    if backend != "none":
        loss_of = torch.compile(loss_of, fullgraph=True, backend=backend)
    for epoch in range(epochs):
        optimizer.zero_grad()
        loss = loss_of(w, logits, x, classes)
        loss.backward()
        optimizer.step()
    weights = torch.sigmoid(logits.detach())
    within = classes[edge_index[0]] == classes[edge_index[1]]
    inner, outer = weights[within].mean().item(), weights[~within].mean().item()
    bits = hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest()
    print(f"{vertices} vertices, {pattern.entries} edges, {epochs} epochs: loss {loss.item():.4f}, mean weight {inner:.3f} within a class, "
          f"{outer:.3f} between classes")
    print(f"weights {bits[:16]}")
    return 0 if inner >= 1.3 * outer else 1


if __name__ == "__main__":
    sys.exit(main())
