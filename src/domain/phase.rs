//! The phases of a notification and every legal move between them, in one list.

use std::fmt;

use thiserror::Error;

/// Where a notification stands. The names are the ledger's own (`phase` enum in the migrations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type)]
#[sqlx(type_name = "phase", rename_all = "lowercase")]
pub enum Phase {
    /// The ledger owns it; due at a time.
    Queued,
    /// Claimed by one worker until its lease ends; past the lease it is in doubt.
    Sending,
    /// In doubt and a person's turn.
    Parked,
    /// Accepted by the provider, and something proves it.
    Sent,
    /// Certainly not sent: refused for good, or attempts used up.
    Failed,
    /// Certainly not sent: too old.
    Expired,
    /// Certainly not sent: a newer one of its stream was taken first.
    Superseded,
    /// Certainly not sent: the recipient opted out.
    Suppressed,
    /// Certainly not sent: a person stopped it.
    Cancelled,
    /// In doubt and closed: will not be sent again, may have been sent.
    Unconfirmed,
}

/// A move that the list of legal moves does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a notification cannot go from {from} to {to}")]
pub struct IllegalMove {
    /// The phase that it is in.
    pub from: Phase,
    /// The phase that was asked for.
    pub to: Phase,
}

impl Phase {
    /// Every phase, in the order of a notification's life.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Sending,
        Self::Parked,
        Self::Sent,
        Self::Failed,
        Self::Expired,
        Self::Superseded,
        Self::Suppressed,
        Self::Cancelled,
        Self::Unconfirmed,
    ];

    /// Checks one move against the list of legal ones.
    ///
    /// # Errors
    /// [`IllegalMove`] naming both sides.
    pub fn may_become(self, to: Self) -> Result<(), IllegalMove> {
        let legal: &[Self] = match self {
            Self::Queued => &[
                Self::Sending,
                Self::Expired,
                Self::Superseded,
                Self::Suppressed,
                Self::Cancelled,
                // only a row that a person or at-least-once put back while in doubt
                Self::Unconfirmed,
            ],
            Self::Sending => &[
                Self::Sent,
                Self::Queued,
                Self::Failed,
                Self::Sending,
                Self::Parked,
                Self::Expired,
                Self::Unconfirmed,
            ],
            Self::Parked => &[Self::Sent, Self::Queued, Self::Unconfirmed],
            Self::Sent
            | Self::Failed
            | Self::Expired
            | Self::Superseded
            | Self::Suppressed
            | Self::Cancelled
            | Self::Unconfirmed => &[],
        };
        if legal.contains(&to) {
            Ok(())
        } else {
            Err(IllegalMove { from: self, to })
        }
    }

    /// Whether nothing moves it any more.
    #[must_use]
    pub const fn rests(self) -> bool {
        !matches!(self, Self::Queued | Self::Sending | Self::Parked)
    }

    /// Whether the phase says for certain that nothing was sent.
    #[must_use]
    pub const fn certainly_not_sent(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Expired | Self::Superseded | Self::Suppressed | Self::Cancelled
        )
    }

    /// The name used in the ledger, the metrics and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Parked => "parked",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Suppressed => "suppressed",
            Self::Cancelled => "cancelled",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_phase_that_rests() {
        for from in Phase::ALL.into_iter().filter(|p| p.rests()) {
            for to in Phase::ALL {
                assert_eq!(from.may_become(to), Err(IllegalMove { from, to }));
            }
        }
    }

    #[test]
    fn an_illegal_move_names_both_sides() {
        let error = Phase::Sent.may_become(Phase::Queued).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a notification cannot go from sent to queued"
        );
    }

    #[test]
    fn a_parked_row_never_becomes_certainly_not_sent() {
        for to in Phase::ALL.into_iter().filter(|p| p.certainly_not_sent()) {
            assert!(Phase::Parked.may_become(to).is_err(), "{to}");
        }
    }
}
