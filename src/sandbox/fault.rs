//! What the sandbox can do wrong, and the only place where the names of faults are read.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What happens to one request to `/send`. Names are those of [`Fault::from_str`]; docs/sandbox.md
/// says for each what is physically sent and what the caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[expect(
    missing_docs,
    reason = "each name is its own description; the page has the table"
)]
pub enum Fault {
    Ok,
    Drop,
    CutAfterAccept,
    AcceptThen500,
    AcceptThen500Forget,
    AcceptThen502,
    AcceptThen504,
    Refuse503,
    Fail500,
    Fail500Cached,
    Throttle(Duration),
    ThrottleDate(Duration),
    Unauthorized,
    Forbidden,
    Redirect,
    Slow(Duration),
    SlowAccept(Duration),
    Hang,
    HangBefore,
    Endless,
    Flood,
    ErrorIn200,
    Empty200,
    Html200,
    Garbage,
    NulInBody,
    Lying2xx,
    WrongLength,
    RetryAfterIn202,
    Twice,
}

/// How a name becomes a fault.
enum Make {
    Plain(Fault),
    /// `name:DURATION`; where a default is given the duration may be left out.
    Timed(fn(Duration) -> Fault, Option<Duration>),
}

/// One second is the shortest wait that a Retry-After in seconds can express.
const RETRY_AFTER: Option<Duration> = Some(Duration::from_secs(1));
/// An HTTP-date has whole seconds, so that a date one second ahead may already be past on arrival.
const RETRY_AFTER_DATE: Option<Duration> = Some(Duration::from_secs(2));

/// How many kinds of faults there are, `ok` included.
pub(super) const KINDS: usize = 30;

const TABLE: [(&str, Make); KINDS] = [
    ("ok", Make::Plain(Fault::Ok)),
    ("drop", Make::Plain(Fault::Drop)),
    ("cut_after_accept", Make::Plain(Fault::CutAfterAccept)),
    ("accept_then_500", Make::Plain(Fault::AcceptThen500)),
    (
        "accept_then_500_forget",
        Make::Plain(Fault::AcceptThen500Forget),
    ),
    ("accept_then_502", Make::Plain(Fault::AcceptThen502)),
    ("accept_then_504", Make::Plain(Fault::AcceptThen504)),
    ("refuse_503", Make::Plain(Fault::Refuse503)),
    ("fail_500", Make::Plain(Fault::Fail500)),
    ("fail_500_cached", Make::Plain(Fault::Fail500Cached)),
    ("throttle", Make::Timed(Fault::Throttle, RETRY_AFTER)),
    (
        "throttle_date",
        Make::Timed(Fault::ThrottleDate, RETRY_AFTER_DATE),
    ),
    ("unauthorized", Make::Plain(Fault::Unauthorized)),
    ("forbidden", Make::Plain(Fault::Forbidden)),
    ("redirect", Make::Plain(Fault::Redirect)),
    ("slow", Make::Timed(Fault::Slow, None)),
    ("slow_accept", Make::Timed(Fault::SlowAccept, None)),
    ("hang", Make::Plain(Fault::Hang)),
    ("hang_before", Make::Plain(Fault::HangBefore)),
    ("endless", Make::Plain(Fault::Endless)),
    ("flood", Make::Plain(Fault::Flood)),
    ("error_in_200", Make::Plain(Fault::ErrorIn200)),
    ("empty_200", Make::Plain(Fault::Empty200)),
    ("html_200", Make::Plain(Fault::Html200)),
    ("garbage", Make::Plain(Fault::Garbage)),
    ("nul_in_body", Make::Plain(Fault::NulInBody)),
    ("lying_2xx", Make::Plain(Fault::Lying2xx)),
    ("wrong_length", Make::Plain(Fault::WrongLength)),
    ("retry_after_in_202", Make::Plain(Fault::RetryAfterIn202)),
    ("twice", Make::Plain(Fault::Twice)),
];

impl Make {
    fn sample(&self) -> Fault {
        match self {
            Make::Plain(fault) => *fault,
            Make::Timed(make, _) => make(Duration::ZERO),
        }
    }
}

impl Fault {
    /// Its row in the table, below [`KINDS`]; `ok` is 0.
    pub(super) fn kind(self) -> usize {
        let own = std::mem::discriminant(&self);
        let same = |(_, make): &(&str, Make)| std::mem::discriminant(&make.sample()) == own;
        TABLE.iter().position(same).unwrap_or(0)
    }

    /// The name of a kind without its duration.
    pub(super) fn kind_name(kind: usize) -> &'static str {
        TABLE.get(kind).map_or("ok", |(name, _)| name)
    }

    fn duration(self) -> Option<Duration> {
        if let Fault::Throttle(time)
        | Fault::ThrottleDate(time)
        | Fault::Slow(time)
        | Fault::SlowAccept(time) = self
        {
            Some(time)
        } else {
            None
        }
    }
}

/// The name stands for no fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFault {
    given: String,
    problem: &'static str,
}

impl fmt::Display for UnknownFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}; known faults:", self.given, self.problem)?;
        for (name, make) in &TABLE {
            let form = match make {
                Make::Plain(_) => "",
                Make::Timed(_, Some(_)) => "[:DURATION]",
                Make::Timed(_, None) => ":DURATION",
            };
            write!(f, " {name}{form}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownFault {}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let wrong = |problem| UnknownFault {
            given: text.to_owned(),
            problem,
        };
        let (name, time) = match text.split_once(':') {
            Some((name, time)) => (name, Some(time)),
            None => (text, None),
        };
        let (_, make) = TABLE
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| wrong("is no fault"))?;
        match (make, time) {
            (Make::Plain(fault), None) => Ok(*fault),
            (Make::Plain(_), Some(_)) => Err(wrong("takes no duration")),
            (Make::Timed(make, Some(default)), None) => Ok(make(*default)),
            (Make::Timed(_, None), None) => Err(wrong("needs a duration, as in slow:30s")),
            (Make::Timed(make, _), Some(time)) => match humantime::parse_duration(time) {
                Ok(time) => Ok(make(time)),
                Err(_) => Err(wrong("has a duration that cannot be read (try 30s or 1m)")),
            },
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Fault::kind_name(self.kind()))?;
        match self.duration() {
            Some(time) => write!(f, ":{}", humantime::format_duration(time)),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Fault {
    type Error = UnknownFault;

    fn try_from(text: String) -> Result<Self, UnknownFault> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> String {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_table_reads_back_as_itself() {
        for (kind, (name, make)) in TABLE.iter().enumerate() {
            let fault = make.sample();
            assert_eq!(fault.kind(), kind, "{name}");
            assert_eq!(fault.to_string().parse(), Ok(fault), "{name}");
        }
    }

    #[test]
    fn durations_are_kept_and_defaulted_where_that_makes_sense() {
        assert_eq!(
            "slow:1500ms".parse(),
            Ok(Fault::Slow(Duration::from_millis(1500)))
        );
        assert_eq!(
            "throttle".parse(),
            Ok(Fault::Throttle(Duration::from_secs(1)))
        );
        assert!("slow".parse::<Fault>().is_err());
        assert!("ok:1s".parse::<Fault>().is_err());
        assert!("slow:soon".parse::<Fault>().is_err());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "explode"
            .parse::<Fault>()
            .err()
            .map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(
            error.contains("explode") && error.contains("cut_after_accept"),
            "{error}"
        );
        assert!(
            error.contains("slow:DURATION") && error.contains("throttle[:DURATION]"),
            "{error}"
        );
    }
}
