//! What the JSON objects of training and inference begin with.

use serde::Serialize;

/// What was computed with, and on what.
#[derive(Serialize)]
pub struct Heading<'a> {
    schema: u32,
    model: &'a str,
    precision: &'a str,
    data: &'a str,
    backend: &'static str,
}

impl<'a> Heading<'a> {
    /// Of this version of the contract.
    pub fn new([model, precision, data]: [&'a str; 3], backend: &'static str) -> Self {
        Self { schema: 1, model, precision, data, backend }
    }
}
