//! Fuzzes [`bitgraph_fuzz::matrix_market`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::matrix_market);
