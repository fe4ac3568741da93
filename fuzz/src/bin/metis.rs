//! Fuzzes [`bitgraph_fuzz::metis`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::metis);
