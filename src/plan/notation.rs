//! How capabilities are written on the command line and in JSON: `replay:24h`,
//! `by-reference:5m,45days`. What is printed can be given back as it is.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};

use super::{
    capability::{Dedupe, Lookup},
    span::{compact, parse},
};

/// Why a written capability was not understood. Displays as a sentence with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotationError(String);

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotationError {}

impl fmt::Display for Dedupe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Replay { window } => write!(f, "replay:{}", compact(*window)),
            Self::Tombstone { window } => write!(f, "tombstone:{}", compact(*window)),
            Self::ClientId { window } => write!(f, "client-id:{}", compact(*window)),
        }
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, settle, retention) = match self {
            Self::None => return f.write_str("none"),
            Self::ByReference { settle, retention } => ("by-reference", settle, retention),
            Self::ByRecipient { settle, retention } => ("by-recipient", settle, retention),
        };
        write!(f, "{kind}:{},{}", compact(*settle), compact(*retention))
    }
}

impl FromStr for Dedupe {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, NotationError> {
        let (kind, window) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "none" if window.is_empty() => Ok(Self::None),
            "replay" => duration(window).map(|window| Self::Replay { window }),
            "tombstone" => duration(window).map(|window| Self::Tombstone { window }),
            "client-id" => duration(window).map(|window| Self::ClientId { window }),
            _ => Err(NotationError(format!(
                "{text:?} is not none, replay:24h, tombstone:15m or client-id:48h"
            ))),
        }
    }
}

impl FromStr for Lookup {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, NotationError> {
        let (kind, times) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "none" if times.is_empty() => Ok(Self::None),
            "by-reference" => {
                span(times).map(|(settle, retention)| Self::ByReference { settle, retention })
            }
            "by-recipient" => {
                span(times).map(|(settle, retention)| Self::ByRecipient { settle, retention })
            }
            _ => Err(NotationError(format!(
                "{text:?} is not none, by-reference:5m,45d or by-recipient:10m,30d \
                 (settle time, then how long the log keeps an entry)"
            ))),
        }
    }
}

impl Serialize for Dedupe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Lookup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn duration(text: &str) -> Result<Duration, NotationError> {
    parse(text).map_err(NotationError)
}

fn span(text: &str) -> Result<(Duration, Duration), NotationError> {
    let (settle, retention) = text.split_once(',').ok_or_else(|| {
        NotationError(format!(
            "{text:?} is not a settle time and a retention, like 5m,45d"
        ))
    })?;
    let (settle, retention) = (duration(settle)?, duration(retention)?);
    if settle >= retention {
        return Err(NotationError(format!(
            "settle time {} is not below the retention {}: \"not found\" would never mean anything",
            compact(settle),
            compact(retention)
        )));
    }
    Ok((settle, retention))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_given_back() {
        for text in ["none", "replay:1d", "tombstone:15m", "client-id:1h30m"] {
            assert_eq!(
                text.parse::<Dedupe>().map(|d| d.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in ["none", "by-reference:5m,400d", "by-recipient:10m,2h"] {
            assert_eq!(
                text.parse::<Lookup>().map(|l| l.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn a_capability_that_means_nothing_is_refused() {
        for text in [
            "",
            "replay",
            "replay:",
            "replay:soon",
            "none:1h",
            "Replay:1h",
        ] {
            assert!(text.parse::<Dedupe>().is_err(), "{text}");
        }
        for text in [
            "",
            "by-reference",
            "by-reference:5m",
            "by-recipient:1h,5m",
            "none:1h",
        ] {
            assert!(text.parse::<Lookup>().is_err(), "{text}");
        }
    }
}
