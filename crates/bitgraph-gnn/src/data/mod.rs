//! Data sets: a graph, features, labels, and which nodes or graphs are trained on.
