//! The formulas of the design's section 16, without and with a limit on the tries.
//!
//! They describe a sender that tries again whenever no answer came, towards a provider that
//! neither dedupes nor can be asked. Of each try, the request is lost with probability `p_m`, and
//! if it was not, the answer is lost with probability `p_a`; `d = 1 − (1−p_m)(1−p_a)` is the
//! probability that a try ends in doubt.

use serde::Serialize;

use super::chance::Probability;

/// What the formulas say, per message.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClosedForms {
    /// Requests sent per message, at least 1. Infinite (JSON: null) if no try can succeed and
    /// nothing limits them.
    pub sends: f64,
    /// Messages the recipient gets beyond the first, per message, without dedup. Without a limit
    /// on the tries this does not depend on `p_m`.
    pub duplicates: f64,
    /// Messages that never reach the recipient, per message, 0 to 1.
    pub lost: f64,
    /// Messages whose last permitted try still ended in doubt, per message, 0 to 1.
    pub unsettled: f64,
}

impl ClosedForms {
    /// Tries until an answer comes: sends 1/((1−p_m)(1−p_a)), duplicates p_a/(1−p_a), no loss.
    #[must_use]
    pub fn without_limit(request_loss: Probability, answer_loss: Probability) -> Self {
        let (p_m, p_a) = (request_loss.get(), answer_loss.get());
        let never = request_loss == Probability::ONE;
        Self {
            sends: 1.0 / ((1.0 - p_m) * (1.0 - p_a)),
            duplicates: if never { 0.0 } else { p_a / (1.0 - p_a) },
            lost: if never { 1.0 } else { 0.0 },
            unsettled: 0.0,
        }
    }

    /// At most `tries` tries: sends (1−dᵏ)/(1−d), lost p_mᵏ, unsettled dᵏ, and as duplicates the
    /// effects (1−p_m)·sends less the messages that had at least one. One try loses p_m.
    #[must_use]
    pub fn with_limit(request_loss: Probability, answer_loss: Probability, tries: u32) -> Self {
        let (p_m, doubt) = (request_loss.get(), request_loss.or(answer_loss).get());
        // Added up rather than divided: (1−dᵏ)/(1−d) is 0/0 at d = 1.
        let (mut sends, mut lost, mut unsettled) = (0.0, 1.0, 1.0);
        for _ in 0..tries {
            sends += unsettled;
            unsettled *= doubt;
            lost *= p_m;
        }
        Self {
            sends,
            duplicates: (1.0 - p_m).mul_add(sends, lost - 1.0).max(0.0),
            lost,
            unsettled,
        }
    }

    /// How dear a lost message must be, in doubled ones, for sending again to be cheaper, when
    /// there is no evidence and no one to pay for looking: p_a / ((1−p_a) p_m). `None` without
    /// lost requests, since then sending again saves nothing.
    #[must_use]
    pub fn break_even_ratio(request_loss: Probability, answer_loss: Probability) -> Option<f64> {
        let ratio =
            Self::without_limit(Probability::ZERO, answer_loss).duplicates / request_loss.get();
        ratio.is_finite().then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: Probability = Probability::clamped(0.1);

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn the_formulas_of_the_design_hold_at_one_in_ten() {
        let forms = ClosedForms::without_limit(TENTH, TENTH);
        assert!(close(forms.sends, 1.0 / 0.81));
        assert!(close(forms.duplicates, 1.0 / 9.0));
        assert_eq!(forms.lost, 0.0);
    }

    #[test]
    fn duplicates_without_a_limit_do_not_depend_on_lost_requests() {
        let half = ClosedForms::without_limit(Probability::clamped(0.5), TENTH);
        assert!(close(
            half.duplicates,
            ClosedForms::without_limit(TENTH, TENTH).duplicates
        ));
    }

    #[test]
    fn one_try_loses_what_is_lost_and_doubles_nothing() {
        let forms = ClosedForms::with_limit(TENTH, TENTH, 1);
        assert!(close(forms.sends, 1.0) && close(forms.lost, 0.1) && close(forms.duplicates, 0.0));
        assert!(close(forms.unsettled, 0.19));
    }

    #[test]
    fn many_tries_come_close_to_no_limit() {
        let (limited, free) = (
            ClosedForms::with_limit(TENTH, TENTH, 60),
            ClosedForms::without_limit(TENTH, TENTH),
        );
        assert!(close(limited.sends, free.sends) && close(limited.duplicates, free.duplicates));
    }

    #[test]
    fn a_dead_line_loses_everything_and_doubles_nothing() {
        let forms = ClosedForms::with_limit(Probability::ONE, TENTH, 8);
        assert_eq!((forms.sends, forms.lost, forms.duplicates), (8.0, 1.0, 0.0));
        let forms = ClosedForms::without_limit(Probability::ONE, TENTH);
        assert!(forms.sends.is_infinite());
        assert_eq!((forms.lost, forms.duplicates), (1.0, 0.0));
    }
}
