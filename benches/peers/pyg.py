"""Training steps of models of two layers in PyTorch Geometric, which `bitgraph-bench gnn --peer PYTHON` starts:

    python3 benches/peers/pyg.py GRAPH.npz COLUMNS REPEAT MODEL:DROPOUT...

The graph is a CSR matrix as SciPy saves it. A step is forward pass, cross entropy, backward pass and Adam (the fused one), in f32 and eager.
Models are as fast as their user gets them by the library's own means: the adjacency of gcn is normalised once, that of sage divided by
degrees once, loops of gat are added once; gcn, gin and sage take it as PyTorch's CSR with 32-bit indices, gat as edge indices sorted by
target. Prints a line for each timing, "MODEL: NUMBER ms", the mean of STEPS steps by the GPU's events; "MODEL: none" for one that is not here.
"""

import sys

import numpy as np
import torch
from torch.nn import Linear, Module, ModuleList
from torch.nn.functional import cross_entropy, dropout, elu, relu
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

STEPS = 10
WARM_UP = 10


class Graph:
    """The entries without loops, on the GPU."""

    def __init__(self, path):
        with np.load(path) as file:
            offsets, sources = file["indptr"].astype(np.int64), file["indices"].astype(np.int64)
        self.nodes = len(offsets) - 1
        targets = np.repeat(np.arange(self.nodes), np.diff(offsets))
        kept = sources != targets
        self.sources = torch.tensor(sources[kept], device="cuda")
        self.targets = torch.tensor(targets[kept], device="cuda")
        self.degrees = torch.bincount(self.targets, minlength=self.nodes)

    def with_loops(self):
        """Sources and targets with a loop at every node, sorted by target."""
        own = torch.arange(self.nodes, device="cuda")
        sources, targets = torch.cat([self.sources, own]), torch.cat([self.targets, own])
        order = torch.argsort(targets * self.nodes + sources)
        return sources[order], targets[order]

    def csr(self, sources, targets, values):
        offsets = torch.zeros(self.nodes + 1, dtype=torch.int64, device="cuda")
        offsets[1:] = torch.cumsum(torch.bincount(targets, minlength=self.nodes), 0)
        return torch.sparse_csr_tensor(offsets.int(), sources.int(), values, (self.nodes, self.nodes))

    def normalised(self):
        sources, targets = self.with_loops()
        roots = (self.degrees + 1).float().rsqrt()
        return self.csr(sources, targets, roots[sources] * roots[targets])

    def means(self):
        shares = 1 / self.degrees.clamp(min=1).float()
        return self.csr(self.sources, self.targets, shares[self.targets])

    def sums(self):
        return self.csr(self.sources, self.targets, torch.ones(len(self.sources), device="cuda"))


class Model(Module):
    def __init__(self, layer, activation, probability):
        super().__init__()
        self.layers = ModuleList([layer(), layer()])
        self.activation, self.probability = activation, probability

    def forward(self, x, adjacency):
        first, second = self.layers
        x = self.activation(first(dropout(x, self.probability, self.training), adjacency))
        return second(dropout(x, self.probability, self.training), adjacency)


def made(name, graph, columns, probability):
    """A model, and the adjacency as it takes it; none where there is no such model."""
    f = columns
    if name == "gcn":
        return Model(lambda: GCNConv(f, f, normalize=False), relu, probability), graph.normalised()
    if name == "gin":
        return Model(lambda: GINConv(Linear(f, f), train_eps=True), relu, probability), graph.sums()
    if name == "sage":
        return Model(lambda: SAGEConv(f, f, aggr="sum"), relu, probability), graph.means()
    if name == "gat":
        layer = lambda: GATConv(f, f, heads=1, dropout=probability, add_self_loops=False)
        return Model(layer, elu, probability), torch.stack(graph.with_loops())
    return None


def times(model, adjacency, x, labels, repeat):
    """Milliseconds of a step, of so many timings."""
    model.cuda().train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2, fused=True)

    def step():
        optimiser.zero_grad(set_to_none=True)
        cross_entropy(model(x, adjacency), labels).backward()
        optimiser.step()

    for _ in range(WARM_UP):
        step()
    for _ in range(repeat):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        for _ in range(STEPS):
            step()
        end.record()
        torch.cuda.synchronize()
        yield start.elapsed_time(end) / STEPS


def main(path, columns, repeat, models):
    torch.manual_seed(1)
    graph = Graph(path)
    x = torch.randn(graph.nodes, columns, device="cuda")
    labels = torch.randint(columns, (graph.nodes,), device="cuda")
    for wanted in models:
        name, probability = wanted.split(":")
        model = made(name, graph, columns, float(probability))
        if model is None:
            print(f"{name}: none")
            continue
        for ms in times(*model, x, labels, repeat):
            print(f"{name}: {ms:.4f} ms")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
