//! When workers are killed.

/// Shares of the first requests between which workers are killed: all have begun, none is done.
const FROM: f64 = 0.05;
/// See [`FROM`].
const TO: f64 = 0.9;

/// After how many requests each kill comes: seeded, ascending, spread over the run.
pub(super) fn points(seed: u64, kills: u32, published: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..kills)
        .map(|kill| {
            let share = (f64::from(kill) + random.f64()) / f64::from(kills);
            // Far below 2^52, so nothing is lost on the way.
            (published as f64 * (FROM + share * (TO - FROM))) as u64
        })
        .collect()
}
