//! Contractions and convolutions.

use super::body::BodyWriter;
use super::writer::{Name, along, int_attribute, ints_attribute};
