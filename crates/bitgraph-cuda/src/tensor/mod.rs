//! Dense matrices on the device, and the operations of graph neural networks.

pub mod forms;
