//! backend-native
