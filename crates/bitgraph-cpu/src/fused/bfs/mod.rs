//! Fused form of bfs.
