//! What docs/proof.md rests on and needs no services: a bounded run of the fuzz targets, and a look
//! at whether the tests that the documents name exist.

mod documents;
mod fuzz;
#[path = "../../fuzz/properties/mod.rs"]
mod properties;
