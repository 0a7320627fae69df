//! Wrong inputs give errors that can be read.

mod texts;
mod values;
