//! Publishing the demo's notifications, as a producer would.

use anyhow::Context as _;
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::lanes::LANES;
use super::progress::Progress;
use super::stage::Stage;
use crate::domain::notification::Kind;
use crate::intake::publish::{PublishError, Publisher};

/// Messages that wait for the broker's confirm at the same time.
const AT_ONCE: usize = 100;

/// Puts `messages` notifications on each channel's queue. When it returns, the broker has
/// confirmed every one of them.
pub(super) async fn publish(
    stage: &Stage,
    messages: u32,
    progress: &Progress,
) -> anyhow::Result<()> {
    let connection = stage.connect().await?;
    let amqp = connection.create_channel().await?;
    let publisher = Publisher::new(amqp, &stage.config.broker.exchange).await?;
    let all = (1..=messages).flat_map(|number| LANES.iter().map(move |lane| (lane.name, number)));
    let kind = |name| {
        let channel = stage.config.channels.iter().find(|c| &*c.name == name);
        channel.map_or(Kind::Sms, |channel| channel.kind)
    };
    let mut confirms = stream::iter(all)
        .map(|(channel, number)| publish_one(&publisher, channel, body(kind(channel), number)))
        .buffer_unordered(AT_ONCE);
    while let Some(confirmed) = confirms.next().await {
        confirmed.context("a notification could not be published")?;
        progress.published();
    }
    drop(confirms);
    // The broker has them all; how the connection ends does not matter.
    let _ = connection.close(200, "done".into()).await;
    Ok(())
}

async fn publish_one(
    publisher: &Publisher,
    channel: &str,
    body: Vec<u8>,
) -> Result<(), PublishError> {
    publisher.publish(channel, &body, None).await
}

/// Numbers and addresses are those set aside for fiction.
fn body(kind: Kind, number: u32) -> Vec<u8> {
    let key = key(number);
    let text = format!("Your order {number} is on its way.");
    let body = match kind {
        Kind::Sms => json!({
            "version": 1, "key": key, "text": text,
            "to": format!("+447700900{:03}", number % 1000),
        }),
        Kind::Email => json!({
            "version": 1, "key": key, "text": text,
            "subject": format!("Order {number}"),
            "to": format!("customer-{number}@example.org"),
        }),
    };
    body.to_string().into_bytes()
}

/// A key as a producer makes it: from what happened, so that it is the same at every retry.
fn key(number: u32) -> String {
    format!("order-{number:04}-shipped")
}
