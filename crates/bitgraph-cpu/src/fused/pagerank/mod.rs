//! Fused form of pagerank.
