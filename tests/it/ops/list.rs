use nuncio::domain::outcome::Doubt;
use nuncio::ops::list::ListArgs;
use serde_json::Value;

use super::harness::{SECRET, TO, notification, on_a_fresh_ledger, timeless, try_args};

#[test]
fn the_stuck_list_counts_by_cause_and_begins_with_the_oldest() {
    on_a_fresh_ledger(async |h| {
        let young = h.parked("young", Doubt::Timeout).await;
        let old = h.parked("old", Doubt::Timeout).await;
        let stale = h.sending("stale").await;
        h.set(young, "doubt_since = now() - interval '5 min'").await;
        h.set(old, "doubt_since = now() - interval '20 min'").await;
        h.set(stale, "due_at = now() - interval '10 min'").await;
        h.sending("under-way").await;
        h.sent("sent").await;
        let expected = "\
 CHANNEL  PROVIDER  CAUSE        PARKED  PAST LEASE  OLDEST (UTC)
 sms      gateway   timeout      2       0           TIME (SPAN)
 sms      gateway   worker_lost  0       1           TIME (SPAN)

 IN DOUBT SINCE (UTC)  CHANNEL  PROVIDER  PHASE    CAUSE        ATTEMPT  TO            KEY
 TIME (SPAN)     sms      gateway   parked   timeout      1        +4917*****67  old
 TIME (SPAN)     sms      gateway   sending  worker_lost  1        +4917*****67  stale
 TIME (SPAN)      sms      gateway   parked   timeout      1        +4917*****67  young

3 rows.
nuncio explain KEY --channel CHANNEL tells the story of one.
";
        let squeeze = |text: &str| -> Vec<String> {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            let lines = text.lines().filter(|line| !line.contains('─'));
            lines.map(words).collect()
        };
        assert_eq!(
            squeeze(&timeless(&h.list(&["--stuck"]).await)),
            squeeze(expected)
        );
        let lost = h.list(&["--stuck", "--cause", "worker_lost"]).await;
        assert!(lost.contains("stale") && !lost.contains("young"), "{lost}");
        assert_eq!(
            h.list(&["--stuck", "--channel", "mail"]).await,
            "Nothing is stuck.\n"
        );
    });
}

#[test]
fn a_list_shows_neither_content_nor_recipient_and_obeys_no_key() {
    on_a_fresh_ledger(async |h| {
        h.parked("bad\u{1b}[2J\u{202e}key\u{9b}", Doubt::Timeout)
            .await;
        let mail = nuncio::domain::notification::Notification {
            to: "anna.b@example.org".to_owned(),
            ..notification("mail", "m")
        };
        h.accept(mail).await;
        for line in [&[][..], &["--json"], &["--stuck"], &["--stuck", "--json"]] {
            let text = h.list(line).await;
            assert!(
                !text.contains(SECRET) && !text.contains(TO) && !text.contains("anna"),
                "{text}"
            );
            assert!(
                text.chars().all(|c| c == '\n' || !c.is_control()),
                "{text:?}"
            );
            assert!(!text.contains('\u{202e}'), "{text:?}");
        }
        assert!(h.list(&[]).await.contains("a***@example.org"));
        let json: Value = serde_json::from_str(&h.list(&["--stuck", "--json"]).await).unwrap();
        assert_eq!(json["rows"][0]["key"], "bad\u{1b}[2J\u{202e}key\u{9b}");
        assert_eq!(json["groups"][0]["parked"], 1);
    });
}

#[test]
fn filters_and_the_limit_narrow_the_list() {
    on_a_fresh_ledger(async |h| {
        for key in ["a", "b", "c"] {
            h.sent(key).await;
        }
        let old = h.sent("yesterday").await;
        h.set(old, "accepted_at = now() - interval '1 day'").await;
        h.sending("open").await;
        let ids = async |line: &[&str]| {
            let text = h.list(&[line, &["--json"]].concat()).await;
            let json: Value = serde_json::from_str(&text).unwrap();
            let rows = json["rows"].as_array().unwrap().clone();
            let keys: Vec<String> = rows
                .iter()
                .map(|row| row["key"].as_str().unwrap().to_owned())
                .collect();
            (keys.join(" "), json["more"].as_bool().unwrap())
        };
        assert_eq!(ids(&["--phase", "sent"]).await, ("c b a".to_owned(), false));
        assert_eq!(
            ids(&["--phase", "sent", "--limit", "2"]).await,
            ("c b".to_owned(), true)
        );
        assert_eq!(
            ids(&["--phase", "sent", "--since", "2d"]).await.0,
            "c b a yesterday"
        );
        assert_eq!(
            ids(&["--since", "2d", "--until", "2h"]).await.0,
            "yesterday"
        );
        assert_eq!(ids(&["--phase", "sending,queued"]).await.0, "open");
        assert_eq!(ids(&["--provider", "other"]).await.0, "");
        assert!(h.list(&[]).await.contains("Accepted within the last hour"));
    });
}

#[test]
fn a_filter_that_means_nothing_is_refused_with_what_would() {
    for line in [
        &["--phase", "lost"][..],
        &["--cause", "moon"],
        &["--since", "soon"],
        &["--limit", "0"],
    ] {
        let error = try_args::<ListArgs>(line).unwrap_err().to_string();
        assert!(error.contains("invalid value"), "{error}");
    }
    let error = try_args::<ListArgs>(&["--phase", "lost"])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("expected one of queued, sending, parked"),
        "{error}"
    );
}
