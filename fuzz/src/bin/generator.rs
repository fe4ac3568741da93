//! Fuzzes [`bitgraph_fuzz::generator`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::generator);
