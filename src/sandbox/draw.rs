//! Chance that does not depend on who comes first.
//!
//! Whether request number k of a reference is hit is a function of (seed, reference, k) alone, so a
//! run with the same seed loses the same requests however many connections race.

/// What is drawn for. Separate draws, so that raising one rate never moves the other's hits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    /// Is the request lost on its way in?
    Request,
    /// What happens to the answer?
    Answer,
    /// Does a look-up in the log fail?
    Log,
}

/// A number in 0.0..1.0 for the `number`th event (from 1) of `name`.
pub(super) fn draw(seed: u64, name: &str, number: u64, draw: Draw) -> f64 {
    let salt: u64 = match draw {
        Draw::Request => 1,
        Draw::Answer => 2,
        Draw::Log => 3,
    };
    let hash = mix(mix(hash(seed, name.as_bytes()) ^ number).wrapping_add(salt));
    // The upper 53 bits fill the mantissa of an f64 exactly.
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// A 64-bit hash, stable across runs and machines.
pub(super) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = mix(seed ^ bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0_u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    state
}

/// One step of splitmix64: every input bit changes about half of the output.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_draws_is_below_a_tenth() {
        let hits = (0..100_000)
            .filter(|i| draw(34, &format!("reference-{i}"), 1, Draw::Request) < 0.1)
            .count();
        assert!((9_700..10_300).contains(&hits), "{hits}");
    }

    #[test]
    fn request_answer_and_number_are_drawn_independently() {
        let both = (0..100_000)
            .filter(|i| {
                let name = format!("reference-{i}");
                draw(34, &name, 1, Draw::Request) < 0.1 && draw(34, &name, 1, Draw::Answer) < 0.1
            })
            .count();
        let twice = (0..100_000)
            .filter(|i| (1..3).all(|k| draw(34, &i.to_string(), k, Draw::Request) < 0.1))
            .count();
        assert!((850..1_150).contains(&both), "{both}");
        assert!((850..1_150).contains(&twice), "{twice}");
    }

    #[test]
    fn the_draw_is_the_same_on_every_machine() {
        assert_eq!(hash(34, b"reference"), 0xFD25_BA00_02E5_8993);
        assert_ne!(hash(34, b"reference"), hash(35, b"reference"));
        assert_ne!(hash(34, b"ab"), hash(34, b"ab\0"));
    }
}
