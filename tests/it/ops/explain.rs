use nuncio::domain::identity::{notification_id, send_key};
use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::ledger::moves::{DoubtAfter, Move};
use std::time::Duration;

use super::harness::{SECRET, TO, notification, on_a_fresh_ledger, timeless};

#[test]
fn explain_tells_a_parked_row_and_the_three_ways_out() {
    on_a_fresh_ledger(async |h| {
        h.parked("order/42:shipped", Doubt::Timeout).await;
        let (code, text) = h.explain(&["order/42:shipped"]).await;
        assert_eq!(code, 0);
        let expected = format!(
            "\
order/42:shipped on sms
  to           +4917*****67
  accepted     TIME, SPAN ago
  provider     gateway
  requests     1 made, or perhaps made; now at attempt 1
  send key     {}

Where it stands
  Parked: in doubt since TIME (SPAN): no complete answer within the request timeout.
  Nothing that nuncio could ask has settled it. It waits for a person.

What happened (UTC; it is TIME)
  TIME             ledger    accepted from the queue; the row is committed
  TIME  attempt 1  ledger    claimed: from here on a request could leave
  TIME  attempt 1  resolver  decision: the log has nothing, twice: parked

What you can do
  It was sent, and you have proof (the provider's log, the recipient):
    nuncio resolve order/42:shipped --channel sms --attempt 1 --sent --proof TEXT --reason TEXT
  It may go out again, even if that makes a duplicate:
    nuncio resolve order/42:shipped --channel sms --attempt 1 --resend --reason TEXT
  It must not go out again, and nobody will know whether it was sent:
    nuncio resolve order/42:shipped --channel sms --attempt 1 --close --reason TEXT
",
            notification_id("sms", "order/42:shipped")
        );
        assert_eq!(timeless(&text), expected);
    });
}

#[test]
fn explain_tells_a_sent_row_from_the_row_alone() {
    on_a_fresh_ledger(async |h| {
        h.sent("k").await;
        let (_, text) = h.explain(&["k", "--channel", "sms"]).await;
        let (_, after) = timeless(&text)
            .split_once("Where it stands\n")
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        assert_eq!(
            after,
            "  Sent; known since TIME, SPAN ago.
  Proof: the provider's answer to the request.

What happened (UTC; it is TIME)
  TIME             ledger  accepted from the queue; the row is committed
  TIME  attempt 1  ledger  claimed: from here on a request could leave
  TIME  attempt 1  ledger  came to rest: sent

What you can do
  Nothing: it rests.
"
        );
        assert!(text.contains("its id       SM-1"), "{text}");
    });
}

#[test]
fn explain_tells_doubt_from_a_request_that_is_under_way() {
    on_a_fresh_ledger(async |h| {
        let id = h.sending("k").await;
        let (_, text) = h.explain(&["k"]).await;
        assert!(text.contains("Being sent: a worker holds it"), "{text}");

        let doubt = Move::new(id, 1, Phase::Sending, Phase::Sending).unwrap();
        let doubt = doubt
            .doubt(DoubtAfter::Because(Doubt::Timeout))
            .requested()
            .wait(Duration::from_secs(40))
            .text("\u{1b}[2Jdear +49171234567");
        h.apply(doubt).await;
        let (_, text) = h.explain(&["k"]).await;
        assert!(
            text.contains("it said      \"\u{FFFD}[2Jdear [recipient]\""),
            "{text}"
        );
        assert!(
            timeless(&text).contains(
                "  In doubt since TIME (SPAN): no complete answer within the request timeout.\n  \
                 The resolver looks again in SPAN.\n"
            ),
            "{text}"
        );

        h.set(id, "due_at = now() - interval '10 min', doubt_since = null, doubt_cause = null, doubt_generation = null").await;
        let (_, text) = h.explain(&["k"]).await;
        assert!(
            timeless(&text).contains(
                "  In doubt since TIME (SPAN): the worker that held the claim did not come back.\n  \
                 It has been due for SPAN: is a resolver for this channel running?\n"
            ),
            "{text}"
        );
    });
}

#[test]
fn explain_finds_a_row_by_key_and_by_its_first_send_key() {
    on_a_fresh_ledger(async |h| {
        let id = h.sent("k").await;
        let (by_key, first) = h.explain(&["k"]).await;
        let (by_id, second) = h.explain(&[&id.to_string()]).await;
        let (by_upper, _) = h.explain(&[&id.to_string().to_uppercase()]).await;
        assert_eq!((by_key, by_id, by_upper), (0, 0, 0));
        assert_eq!(timeless(&first), timeless(&second));

        h.accept(notification("mail", "k")).await;
        let (_, both) = h.explain(&["k"]).await;
        assert!(
            both.contains("k on sms\n") && both.contains("k on mail\n"),
            "{both}"
        );
        let (_, one) = h.explain(&["k", "--channel", "mail"]).await;
        assert!(!one.contains("k on sms"), "{one}");
    });
}

#[test]
fn explain_says_where_it_looked_when_there_is_nothing() {
    on_a_fresh_ledger(async |h| {
        let (code, text) = h.explain(&["K\u{1b}[2J"]).await;
        assert_eq!(code, 1);
        let first = text.lines().next().unwrap();
        assert_eq!(
            first,
            "There is no notification \"K\\u{1b}[2J\" on mail, sms, nor one with that id."
        );
    });
}

#[test]
fn a_hostile_key_is_printed_harmless_and_its_commands_name_the_id() {
    on_a_fresh_ledger(async |h| {
        let key = "a'; rm -rf /\r\n\u{1b}]0;x\u{7}";
        let id = h.parked(key, Doubt::Timeout).await;
        for line in [&[key][..], &[key, "--json"]] {
            let (code, text) = h.explain(line).await;
            assert_eq!(code, 0);
            assert!(
                text.contains(&format!("nuncio resolve {id} --channel sms")),
                "{text}"
            );
            assert!(
                text.chars().all(|c| c == '\n' || !c.is_control()),
                "{text:?}"
            );
        }
        let (code, _) = h
            .resolve(&[&id.to_string(), "--attempt", "1", "--close"])
            .await;
        assert_eq!(code, 0);
    });
}

#[test]
fn content_is_shown_only_on_request_and_leaves_a_line() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        for line in [&["k"][..], &["k", "--json"]] {
            let (_, text) = h.explain(line).await;
            assert!(!text.contains(SECRET) && !text.contains(TO), "{text}");
        }
        assert_eq!(h.ledger.history(id).await.unwrap().len(), 1);

        let (_, text) = h.explain(&["k", "--content", "--by", "anna"]).await;
        assert!(text.contains(SECRET) && text.contains(TO), "{text}");
        let line = h.last_line(id).await;
        assert_eq!(
            line,
            (
                "anna".into(),
                "person".into(),
                "content shown to anna".into()
            )
        );
    });
}

#[test]
fn explain_lists_the_send_key_of_each_generation() {
    on_a_fresh_ledger(async |h| {
        h.parked("k", Doubt::ReplayedFailure).await;
        h.resolve(&["k", "--attempt", "1", "--resend"]).await;
        let (_, text) = h.explain(&["k"]).await;
        for generation in [1, 2] {
            assert!(
                text.contains(&send_key("sms", "k", generation).to_string()),
                "{text}"
            );
        }
        assert!(
            text.contains("1 sent again in doubt: possible duplicates"),
            "{text}"
        );
        assert!(
            text.contains("Queued, to be sent again although it is in doubt since"),
            "{text}"
        );
    });
}
