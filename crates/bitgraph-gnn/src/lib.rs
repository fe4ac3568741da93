//! Graph neural networks: data sets, layers, models and their training, generic over backend and precision.

pub mod data;
