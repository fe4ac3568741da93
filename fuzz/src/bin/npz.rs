//! Fuzzes [`bitgraph_fuzz::npz`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::npz);
