//! acc-core
