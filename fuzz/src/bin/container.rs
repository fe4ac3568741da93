//! Fuzzes [`bitgraph_fuzz::container`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::container);
