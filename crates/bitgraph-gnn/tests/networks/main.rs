//! Networks on the CPU. One program, since most of its code is instances of models and layers for the types of numbers, which are compiled
//! once for each program.

mod batches;
mod chains;
mod checkpoints;
mod gradients;
mod graphs;
mod plans;
mod quant;
mod settings;
mod training;
