//! When to try again: exponential backoff with jitter, capped, and what the provider asked for.

use std::time::Duration;

/// How the pauses between tries of one notification grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The pause before the second try.
    pub first: Duration,
    /// No pause of our own is longer than this.
    pub longest: Duration,
    /// What a provider may ask for at most; a longer Retry-After is cut to this, so that a
    /// nonsense value cannot put a warning off for a year.
    pub longest_asked: Duration,
}

impl Schedule {
    /// One second, doubling, to at most five minutes; a provider may ask for at most an hour.
    pub const DEFAULT: Self = Self {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(300),
        longest_asked: Duration::from_secs(3600),
    };

    /// The pause after `tries` tries (1 or more): doubled each time, then spread over half to
    /// all of that by `chance`, so that rows that failed together do not come back together.
    /// Never shorter than what the provider asked for, within [`Schedule::longest_asked`].
    ///
    /// `chance` is a random number from 0 up to 1.
    #[must_use]
    pub fn pause(&self, tries: u32, asked: Option<Duration>, chance: f64) -> Duration {
        let doublings = tries.saturating_sub(1).min(31);
        let full = self.first.saturating_mul(1 << doublings).min(self.longest);
        let own = full.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        own.max(asked.unwrap_or_default().min(self.longest_asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_and_stops_at_the_longest() {
        let pauses: Vec<_> = [1, 2, 3, 9, 10, 4_000_000_000]
            .map(|tries| Schedule::DEFAULT.pause(tries, None, 1.0).as_secs())
            .into();
        assert_eq!(pauses, [1, 2, 4, 256, 300, 300]);
    }

    #[test]
    fn chance_spreads_it_over_the_upper_half() {
        assert_eq!(
            Schedule::DEFAULT.pause(3, None, 0.0),
            Duration::from_secs(2)
        );
        assert_eq!(
            Schedule::DEFAULT.pause(3, None, 0.5),
            Duration::from_secs(3)
        );
    }

    #[test]
    fn the_provider_is_heard_up_to_an_hour() {
        let asked = |seconds| Some(Duration::from_secs(seconds));
        let pause = |asked| Schedule::DEFAULT.pause(1, asked, 1.0).as_secs();
        assert_eq!(pause(asked(90)), 90);
        assert_eq!(pause(asked(0)), 1);
        assert_eq!(pause(asked(1_000_000_000)), 3600);
    }
}
