//! What the host does with arrays and programs: conversion, files, runs, functions of its own.

pub(in crate::api) mod convert;
pub(in crate::api) mod foreign;
#[cfg(feature = "npy")]
pub mod npy;
pub(in crate::api) mod pending;
pub(in crate::api) mod run;
