//! acc-desugar
