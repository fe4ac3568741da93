"""A sparse matrix of ones times dense features in SciPy or PyTorch, as a peer of `bitgraph-bench cpu`:

    --peer "scipy=spmm:python3 benches/peers/spmm.py scipy {mtx} {threads}"

SciPy's product is serial whatever the number of threads; PyTorch's is not. Prints the time of each run.
"""

import sys
import time

import numpy as np

FEATURES = 64


def main(library, path, threads):
    from scipy.io import mmread
    from scipy.sparse import csr_matrix

    a = csr_matrix(mmread(path), dtype=np.float32)
    a.data[:] = 1
    x = (1 + np.arange(a.shape[1] * FEATURES, dtype=np.int64) % 7).astype(np.float32).reshape(-1, FEATURES)
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
        a = torch.sparse_csr_tensor(torch.tensor(a.indptr), torch.tensor(a.indices), torch.tensor(a.data), a.shape)
        x = torch.tensor(x)
    a @ x
    for _ in range(5):
        start = time.perf_counter()
        a @ x
        print(f"{library}: {1e3 * (time.perf_counter() - start):.4f} ms")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
