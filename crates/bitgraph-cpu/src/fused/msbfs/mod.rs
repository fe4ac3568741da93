//! Fused form of msbfs.
