//! Graphs, their algorithms and operations on the CPU. One program, since most of its code is instances of algorithms for the types of numbers,
//! which are compiled once for each program.

mod blocks;
mod contracts;
mod definitions;
mod graph;
mod own;
mod refusals;
