//! Dead letters back through intake: published to the channel's queue again, and taken out of the
//! dead-letter queue only when the broker has them there. A message may be in both for a moment,
//! never in neither; the ledger drops the one that is too many.

use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel as AmqpChannel, Event};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::publish::{PublishError, Publisher};
use super::subscription::{OpenError, connect, is_unreadable};
use super::topology;
use crate::config::{Broker, Channel};

/// Messages under way at once, and so the most that an interruption leaves in both queues.
const AT_ONCE: usize = 64;

/// How long the broker may take to hand over one message.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// How long it may take to hear that we leave.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// What the broker wrote when it gave the message up. It would be appended to at the next time, and
/// messages that came round this way are dropped by some versions, to end what looks like a loop.
const WRITTEN_BY_THE_BROKER: [&str; 9] = [
    "x-death",
    "x-first-death-exchange",
    "x-first-death-queue",
    "x-first-death-reason",
    "x-last-death-exchange",
    "x-last-death-queue",
    "x-last-death-reason",
    "x-delivery-count",
    "x-acquired-count",
];

/// Further queues for the same message: they have had it.
const OTHER_QUEUES: [&str; 2] = ["CC", "BCC"];

/// Why dead letters stay where they are.
#[derive(Debug, Error)]
pub enum RedriveError {
    /// The broker cannot be reached.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The broker refused, or the connection was lost.
    #[error("the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// No answer.
    #[error("the broker did not answer within {} s", ANSWER_LIMIT.as_secs())]
    TooSlow,
    /// The next one ends the connection.
    #[error(
        "the next message in {0} cannot be read, since its properties are not UTF-8; it stays at the head of that queue until it is moved or deleted with the broker's own tools"
    )]
    Unreadable(String),
    /// The channel's queue did not take one.
    #[error(transparent)]
    NotPublished(#[from] PublishError),
}

/// What became of a run.
#[derive(Debug, Default)]
pub struct Redriven {
    /// Messages that were in the dead-letter queue when it began.
    pub there: u64,
    /// Messages that the channel's queue has, and the dead-letter queue has no more.
    pub moved: u64,
    /// What ended it before all were moved.
    pub failed: Option<RedriveError>,
}

/// How many messages wait in a channel's dead-letter queue. Takes none out: to look at one and give
/// it back counts as a delivery, and the broker gives up a message that was delivered too often.
///
/// # Errors
/// When the broker cannot be asked, or has no such queue.
pub async fn waiting(broker: &Broker, channel: &Channel) -> Result<u64, RedriveError> {
    let connection = connect(broker, "nuncio redrive").await?;
    let there = depth(&connection.create_channel().await?, channel).await?;
    let _ = connection.close(200, "done".into()).await;
    Ok(there)
}

async fn depth(amqp: &AmqpChannel, channel: &Channel) -> lapin::Result<u64> {
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let queue = topology::dead_queue(channel);
    let said = amqp
        .queue_declare(queue.as_str().into(), passive, FieldTable::default())
        .await?;
    Ok(said.message_count().into())
}

/// Moves up to `limit` messages from a channel's dead-letter queue to its queue, and no more than
/// were there at the beginning, so that one that is given up again at once does not go in circles.
/// `progress` hears how many of how many are done. Ends early, with what is under way finished,
/// when told to `stop` or at the first message that the queue does not take.
///
/// # Errors
/// When nothing could be begun.
pub async fn redrive(
    broker: &Broker,
    channel: &Channel,
    limit: Option<u64>,
    progress: impl Fn(u64, u64),
    stop: &CancellationToken,
) -> Result<Redriven, RedriveError> {
    // Two connections: a broker that is short of memory stops the one that publishes, acks included.
    let reading = connect(broker, "nuncio redrive").await?;
    let writing = connect(broker, "nuncio redrive, publishing").await?;
    let amqp = reading.create_channel().await?;
    let publisher = Publisher::new(writing.create_channel().await?, &broker.exchange).await?;
    let mut events = reading.events_listener();
    let queue = topology::dead_queue(channel);
    let mut done = Redriven {
        there: depth(&amqp, channel).await?,
        ..Redriven::default()
    };
    let mut wanted = limit.unwrap_or(u64::MAX).min(done.there);
    let mut taken = 0;
    let mut under_way = FuturesUnordered::new();
    loop {
        while done.failed.is_none()
            && !stop.is_cancelled()
            && taken < wanted
            && under_way.len() < at_once(done.moved)
        {
            match next(&amqp, &queue, &mut events).await {
                Ok(Some(message)) => {
                    taken += 1;
                    under_way.push(move_one(&amqp, &publisher, channel, message));
                }
                // Somebody else has taken some meanwhile.
                Ok(None) => wanted = taken,
                // The connection is gone, and with it what was taken: moved now, it could not be
                // acked, and would be there twice.
                Err(error) => {
                    done.failed = Some(error);
                    under_way.clear();
                }
            }
        }
        match under_way.next().await {
            Some(Ok(())) => {
                done.moved += 1;
                progress(done.moved, wanted);
            }
            Some(Err(error)) => done.failed = done.failed.or(Some(error)),
            None => break,
        }
    }
    drop(under_way);
    // What was taken and not acked goes back with the connection.
    let close = async {
        let _ = reading.close(200, "done".into()).await;
        let _ = writing.close(200, "done".into()).await;
    };
    let _ = tokio::time::timeout(CLOSE_LIMIT, close).await;
    Ok(done)
}

/// How many may be under way. The first goes alone: what is taken and given back counts as a
/// delivery, and RabbitMQ 4 gives up a message after 20 of them.
fn at_once(moved: u64) -> usize {
    if moved == 0 { 1 } else { AT_ONCE }
}

/// The next dead letter, if there is one. A message that the AMQP library cannot read ends the
/// connection, and the answer never comes: the connection's own word says so.
async fn next(
    amqp: &AmqpChannel,
    queue: &str,
    events: &mut (impl Stream<Item = Event> + Unpin),
) -> Result<Option<Delivery>, RedriveError> {
    let failed = async {
        loop {
            match events.next().await {
                Some(Event::Error(error)) => break error,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        biased;
        got = amqp.basic_get(queue.into(), BasicGetOptions::default()) => {
            Ok(got?.map(|message| message.delivery))
        }
        error = failed => Err(if is_unreadable(&error) {
            RedriveError::Unreadable(queue.to_owned())
        } else {
            error.into()
        }),
        () = tokio::time::sleep(ANSWER_LIMIT) => Err(RedriveError::TooSlow),
    }
}

async fn move_one(
    amqp: &AmqpChannel,
    publisher: &Publisher,
    channel: &Channel,
    dead: Delivery,
) -> Result<(), RedriveError> {
    publisher
        .publish_with(&channel.name, &dead.data, as_it_was(&dead.properties))
        .await?;
    amqp.basic_ack(dead.delivery_tag, BasicAckOptions::default())
        .await?;
    Ok(())
}

/// The properties as the producer gave them, but for the user, which the broker demands to be the
/// one that publishes, and for what the broker added.
fn as_it_was(dead: &BasicProperties) -> BasicProperties {
    let mut new = BasicProperties::default();
    macro_rules! keep {
        ($($get:ident $with:ident),*) => {
            $(if let Some(value) = dead.$get() {
                new = new.$with(value.clone());
            })*
        };
    }
    keep!(
        content_type with_content_type,
        content_encoding with_content_encoding,
        priority with_priority,
        correlation_id with_correlation_id,
        reply_to with_reply_to,
        expiration with_expiration,
        message_id with_message_id,
        timestamp with_timestamp,
        kind with_type,
        app_id with_app_id,
        cluster_id with_cluster_id
    );
    if let Some(headers) = dead.headers() {
        let of_the_producer =
            |name: &str| !WRITTEN_BY_THE_BROKER.contains(&name) && !OTHER_QUEUES.contains(&name);
        let mut kept = FieldTable::default();
        for (name, value) in headers.inner() {
            if of_the_producer(name.as_str()) {
                kept.insert(name.clone(), value.clone());
            }
        }
        new = new.with_headers(kept);
    }
    new
}
