//! Fuzzes [`bitgraph_fuzz::npy`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::npy);
