//! Fused form of cc.
