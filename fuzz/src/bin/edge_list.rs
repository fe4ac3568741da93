//! Fuzzes [`bitgraph_fuzz::edge_list`].
#![cfg_attr(fuzzing, no_main)]

bitgraph_fuzz::target!(bitgraph_fuzz::edge_list);
