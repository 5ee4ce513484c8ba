//! What a provider's log must show before it says "found" or "absent".

use chrono::{DateTime, Utc};
use nuncio::domain::outcome::LookUpAnswer;
use nuncio::provider::{Answer, Question};
use serde_json::Value;

/// "Found" only by a record of ours, "absent" only from a log that answered as one and shows none.
pub(super) fn says_so(
    channel: &str,
    question: &Question<'_>,
    answer: &Answer,
    found: &LookUpAnswer,
) {
    if matches!(found, LookUpAnswer::Failed { .. }) {
        return; // as good as no answer, whatever it was
    }
    assert!(
        (200..300).contains(&answer.status),
        "a log that failed says {found:?}"
    );
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match channel {
        "sms-json" => by_reference(question, &json["records"], found),
        "sms-parts" => by_recipient(question, &json["items"], found),
        _ => panic!("{channel} has no log, and it says {found:?}"),
    }
}

/// With records under other references there may be another page: then it is no "absent".
fn by_reference(question: &Question<'_>, list: &Value, found: &LookUpAnswer) {
    let key = question.message.send_key.to_string();
    let ours = |record: &Value| {
        let reference = record["reference"].as_str().unwrap_or_default();
        reference.trim().eq_ignore_ascii_case(&key)
    };
    match found {
        LookUpAnswer::Found(_) => {
            assert!(records(list).iter().any(ours), "found in {list}");
        }
        LookUpAnswer::Absent => assert!(list.as_array().is_some_and(Vec::is_empty)),
        LookUpAnswer::Failed { .. } => {}
    }
}

fn by_recipient(question: &Question<'_>, list: &Value, found: &LookUpAnswer) {
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    let text = |record: &Value, field: &str| {
        let value = &record[field];
        let text = value.as_str().map(str::trim).map(str::to_owned);
        text.unwrap_or_else(|| value.to_string())
    };
    let fits = |record: &Value| {
        digits(&text(record, "to")) == digits(question.message.to)
            && record["direction"] == "outbound"
            && Some(&*text(record, "body")) == question.message.content.text.as_deref()
    };
    let in_time = |record: &Value| {
        let at = record["date"].as_str().and_then(|at| at.parse().ok());
        at.is_some_and(|at: DateTime<Utc>| (question.from..=question.until).contains(&at))
    };
    match found {
        LookUpAnswer::Found(_) => {
            assert!(records(list).iter().any(fits), "found in {list}");
        }
        LookUpAnswer::Absent => {
            let shown = records(list).iter().any(|r| fits(r) && in_time(r));
            assert!(
                (list.is_array() || list.is_object()) && !shown,
                "absent from {list}"
            );
        }
        LookUpAnswer::Failed { .. } => {}
    }
}

fn records(list: &Value) -> &[Value] {
    let one = std::slice::from_ref(list);
    list.as_array().map_or(one, Vec::as_slice)
}
