//! The generator of the published run. Small and repeatable; not for secrets.

/// mulberry32: 32 bits of state, one draw per step, the same sequence on every machine.
#[derive(Clone, Debug)]
pub struct Mulberry32(u32);

impl Mulberry32 {
    /// Any seed is a good seed.
    #[must_use]
    pub const fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// The next number, 0 inclusive to 1 exclusive, in steps of 2⁻³².
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let a = self.0;
        let mut t = (a ^ (a >> 15)).wrapping_mul(1 | a);
        t = t.wrapping_add((t ^ (t >> 7)).wrapping_mul(61 | t)) ^ t;
        f64::from(t ^ (t >> 14)) / 4_294_967_296.0
    }
}
