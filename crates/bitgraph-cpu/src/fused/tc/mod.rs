//! Fused form of tc.
