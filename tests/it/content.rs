//! Recipients in one form, texts counted by the SMS, and nothing cut.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use serde_json::json;

use super::harness::{Channel, Gives, World, body, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn three_spellings_of_a_number_are_one_row_and_one_send() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).line("default_region = \"GB\"");
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let spellings = ["+44 20 7946 0018", "0044 (0)20 7946 0018", " 020 7946 0018"];
    for to in spellings {
        let mut message = body("sms", "order-1");
        message["to"] = json!(to);
        publisher.json("sms", &message).await;
    }
    let mut worker = world.start(&config).await;
    let row = &world.rest(1).await[0];
    assert_eq!((row.phase, &*row.recipient), (Phase::Sent, "+442079460018"));
    wait_until("the other two are duplicates", async || {
        let metrics = worker.metrics().await;
        (metrics.sum("nuncio_duplicates_dropped_total", "") == 2.0).then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(world.sandbox.so_far(row.id).await.accepted, 1);
    assert!(world.quarantine().await.is_empty());
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_over_the_limit_is_kept_whole_and_what_is_sent_is_counted_by_the_sms() {
    let world = World::new().await;
    let limited = |most: u32| {
        let line = format!("max_segments = {most}");
        let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).line(&line);
        world.config().channel(channel)
    };
    let config = limited(2);
    let publisher = world.publisher(&config).await;
    let texts = [
        ("one", "€".repeat(80)),
        ("two", "a".repeat(161)),
        ("three", "ě".repeat(135)),
    ];
    for (key, text) in &texts {
        let mut message = body("sms", key);
        message["text"] = json!(text);
        publisher.json("sms", &message).await;
    }
    let mut worker = world.start(&config).await;
    world.rest(2).await;
    let kept = wait_until("the long one is kept", async || {
        world.quarantine().await.pop()
    })
    .await;
    assert_eq!(
        (&*kept.reason, &*kept.detail),
        ("too_many_segments", "the text needs 3 SMS; at most 2")
    );
    let metrics = worker.metrics().await;
    assert_eq!(
        metrics.sum("nuncio_sms_segments_total", "channel=\"sms\""),
        3.0
    );
    worker.stop().await;

    let config = limited(3);
    let mut worker = world.start(&config).await;
    let line = ["quarantine", "release", "--all", "--yes", "--by", "anna"];
    let done = world.nuncio(&config, &line).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    let rows = world.rest(3).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    let metrics = worker.metrics().await;
    assert_eq!(
        metrics.sum("nuncio_sms_segments_total", "channel=\"sms\""),
        3.0
    );
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_domain_is_sent_to_in_a_labels_and_a_local_part_beyond_ascii_only_where_it_is_taken()
{
    let world = World::new().await;
    let channel = |takes: &str| {
        let mut channel = Channel::new("mail", AtMostOnce, Gives::Nothing);
        channel.kind = "email";
        channel.more_of_provider = takes.to_owned();
        world.config().channel(channel)
    };
    let config = channel("");
    let publisher = world.publisher(&config).await;
    for (key, to) in [
        ("idn", "info@BÜCHER.example"),
        ("local", "jörg@bücher.example"),
    ] {
        let message = json!({"key": key, "to": to, "subject": "Hello", "text": "Good morning"});
        publisher.json("mail", &message).await;
    }
    let worker = world.start(&config).await;
    let row = &world.rest(1).await[0];
    assert_eq!(row.recipient, "info@xn--bcher-kva.example");
    let kept = wait_until("the other is kept", async || world.quarantine().await.pop()).await;
    assert_eq!(kept.reason, "bad_recipient");
    worker.stop().await;

    let config = channel("smtputf8 = true");
    let worker = world.start(&config).await;
    let line = ["quarantine", "release", "--all", "--yes", "--by", "anna"];
    assert_eq!(world.nuncio(&config, &line).await.code, Some(0));
    let rows = world.rest(2).await;
    let local = rows.iter().find(|row| row.key == "local");
    assert_eq!(
        local.map(|row| &*row.recipient),
        Some("jörg@xn--bcher-kva.example")
    );
    worker.stop().await;
    world.audit(&config).await;
}
