//! Short, numbered examples of bitgraph, each of which answers one "how do I ...". They are in `examples/examples/`, and run as
//! tests too: `cargo run --release -p bitgraph-examples --example 01_search`.
