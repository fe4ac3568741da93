//! Fused form of sssp.
