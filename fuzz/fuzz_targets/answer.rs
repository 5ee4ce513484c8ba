//! Any answer of a provider: see `properties/answer.rs`.

#![no_main]

#[path = "../properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    properties::answer::hold(input);
});
