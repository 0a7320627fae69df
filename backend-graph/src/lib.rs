//! backend-graph
