//! `nuncio quarantine release`.
//!
//! A message is published first, and marked as released when the broker has confirmed that its
//! queue has it. What is interrupted in between is still held, and is released again: the ledger
//! drops the second one. The mark names how often the message had come before; one that came back,
//! still bad, before the mark, stays held. It is marked and not deleted, so that one that comes
//! back, still bad, is found under its old number with what was done about it.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::progress::Progress;
use super::super::{
    COULD_NOT, DONE, NOT_CHANGED, NOT_FOUND, OpsError, Terminal, json as print, person, words,
};
use super::choice::{Choice, ChoiceArgs, groups_json, groups_text, messages};
use crate::config::Config;
use crate::intake::publish::{PublishError, Publisher};
use crate::intake::subscription::connect;
use crate::ledger::release::QuarantinedRow;
use crate::ledger::{Ledger, LedgerError, quarantine::Message};

/// Messages under way at once.
const AT_ONCE: usize = 32;

/// Which to release.
#[derive(Clone, Debug, Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    /// Which.
    pub choice: ChoiceArgs,
    /// Who releases them; $USER unless given.
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true, value_parser = person::name)]
    pub by: String,
}

/// What became of them.
#[derive(Default)]
struct Released {
    /// Published, confirmed, marked.
    released: u64,
    /// Still held, and why.
    unchanged: Vec<(i64, String)>,
    /// Not tried: told to stop, or the broker was lost.
    not_tried: usize,
    /// A queue that did not take one, or what ended it early.
    failed: Option<String>,
}

/// Why one was not released.
enum Failure {
    /// Something about this one.
    Unchanged(String),
    /// Its queue takes none.
    Queue(PublishError),
    /// Nothing goes on.
    Lost(String),
}

pub(super) async fn run(
    ledger: &Ledger,
    config: &Config,
    args: &ReleaseArgs,
    terminal: &mut Terminal<'_>,
    stop: &dyn Fn() -> CancellationToken,
) -> Result<u8, OpsError> {
    let mut choice = args.choice.choose(ledger).await?;
    if args.choice.dry_run {
        let without = choice.held.iter().filter(|chosen| !chosen.kept).count();
        match args.choice.json {
            true => terminal.print(&print::print(
                &json!({ "dry_run": true, "groups": groups_json(&choice.held) }),
            ))?,
            false => terminal.print(&format!(
                "{}\nWould release {}.\n",
                groups_text(&choice.held),
                messages(choice.held.len() - without)
            ))?,
        }
        return Ok(DONE);
    }
    let without_bytes = set_aside(&mut choice);
    if !args.choice.all {
        let why = "over the size limit: its bytes were not kept, so it cannot be released. Its producer has to publish it again, smaller";
        let named = without_bytes.iter().map(|id| (*id, why.to_owned()));
        choice.unchanged.extend(named);
    }
    if !args.choice.confirmed("Release", &choice.held, terminal)? {
        terminal.print("Nothing was changed. Not confirmed.\n")?;
        return Ok(NOT_CHANGED);
    }
    let done = release(ledger, config, &args.by, &choice.held, &stop()).await?;
    let skipped = if args.choice.all {
        without_bytes.len()
    } else {
        0
    };
    report(args, &choice, done, skipped, terminal)
}

/// Takes out those whose bytes are not kept.
fn set_aside(choice: &mut Choice) -> Vec<i64> {
    let held = std::mem::take(&mut choice.held);
    let (with, without): (Vec<_>, Vec<_>) = held.into_iter().partition(|chosen| chosen.kept);
    choice.held = with;
    without.into_iter().map(|chosen| chosen.id).collect()
}

async fn release(
    ledger: &Ledger,
    config: &Config,
    by: &str,
    held: &[QuarantinedRow],
    stop: &CancellationToken,
) -> Result<Released, OpsError> {
    let mut done = Released::default();
    if held.is_empty() {
        return Ok(done);
    }
    let connection = connect(&config.broker, "nuncio quarantine release").await?;
    let amqp = connection.create_channel().await?;
    let publisher = Publisher::new(amqp, &config.broker.exchange).await?;
    let channels: BTreeMap<&str, &str> = (config.channels.iter())
        .map(|channel| (&*channel.queue, &*channel.name))
        .collect();
    let progress = Progress::of("released");
    let mut waiting = held.iter();
    let mut under_way = FuturesUnordered::new();
    let mut stuck = BTreeSet::new();
    let mut lost = false;
    loop {
        while !lost && !stop.is_cancelled() && under_way.len() < AT_ONCE {
            let Some(chosen) = waiting.next() else { break };
            let Some(channel) = channels.get(&*chosen.queue) else {
                let why = format!("no channel reads queue {:?}", words::name(&chosen.queue));
                done.unchanged.push((chosen.id, why));
                continue;
            };
            if stuck.contains(&*chosen.queue) {
                done.not_tried += 1;
                continue;
            }
            let one = release_one(ledger, &publisher, chosen, channel, by);
            under_way.push(async move { (chosen, one.await) });
        }
        let Some((chosen, released)) = under_way.next().await else {
            break;
        };
        match released {
            Ok(()) => done.released += 1,
            Err(Failure::Unchanged(why)) => done.unchanged.push((chosen.id, why)),
            Err(Failure::Queue(error)) => {
                stuck.insert(&*chosen.queue);
                done.not_tried += 1;
                done.failed = Some(error.to_string());
            }
            Err(Failure::Lost(error)) => {
                lost = true;
                done.not_tried += 1;
                done.failed = Some(error);
            }
        }
        progress.at(done.released, held.len() as u64);
    }
    drop(under_way);
    done.not_tried += waiting.len();
    progress.end();
    // The broker has what was published; how the connection ends does not matter.
    let _ = connection.close(200, "done".into()).await;
    Ok(done)
}

async fn release_one(
    ledger: &Ledger,
    publisher: &Publisher,
    chosen: &QuarantinedRow,
    channel: &str,
    by: &str,
) -> Result<(), Failure> {
    let unsure = |error: LedgerError| Failure::Lost(error.to_string());
    let held = ledger.held_message(chosen.id).await.map_err(unsure)?;
    let Some((message, seen)) = held else {
        let why = "somebody else has decided meanwhile".to_owned();
        return Err(Failure::Unchanged(why));
    };
    let published = publisher
        .publish_with(channel, &message.body, beside(&message))
        .await;
    match published {
        Ok(()) => {}
        Err(error @ (PublishError::Unroutable(_) | PublishError::Refused(_))) => {
            return Err(Failure::Queue(error));
        }
        Err(error @ (PublishError::Broker(_) | PublishError::TooSlow)) => {
            return Err(Failure::Lost(error.to_string()));
        }
    }
    let detail = format!("published again to channel {channel}");
    let marked = ledger.released(chosen.id, seen, by, &detail).await;
    match marked.map_err(unsure)? {
        true => Ok(()),
        false => Err(Failure::Unchanged(
            "published again, and came back: still bad, or somebody else released it too"
                .to_owned(),
        )),
    }
}

/// What the broker said beside it when it came, so that it reads the same again.
fn beside(message: &Message) -> BasicProperties {
    let mut properties = BasicProperties::default();
    if let Some(id) = &message.message_id {
        properties = properties.with_message_id(id.as_str().into());
    }
    if let Some(content_type) = &message.content_type {
        properties = properties.with_content_type(content_type.as_str().into());
    }
    if let Some((source, id)) = &message.cloud_event {
        let mut headers = FieldTable::default();
        for (name, value) in [("cloudEvents:source", source), ("cloudEvents:id", id)] {
            headers.insert(name.into(), AMQPValue::LongString(value.as_str().into()));
        }
        properties = properties.with_headers(headers);
    }
    properties
}

fn report(
    args: &ReleaseArgs,
    choice: &Choice,
    done: Released,
    without_bytes: usize,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let unchanged = || choice.unchanged.iter().chain(&done.unchanged);
    if args.choice.json {
        let unchanged: Vec<_> = unchanged()
            .map(|(id, why)| json!({"id": id, "why": why}))
            .collect();
        terminal.print(&print::print(&json!({
            "dry_run": false,
            "released": done.released,
            "unchanged": unchanged,
            "unknown": choice.unknown,
            "without_bytes": without_bytes,
            "not_tried": done.not_tried,
            "failed": done.failed,
        })))?;
    } else {
        for (id, why) in unchanged() {
            terminal.print(&format!("{id}: not released; {why}.\n"))?;
        }
        for id in &choice.unknown {
            terminal.print(&format!("There is no quarantined message {id}.\n"))?;
        }
        let count = usize::try_from(done.released).unwrap_or(usize::MAX);
        terminal.print(&format!("Released {}.\n", messages(count)))?;
        if without_bytes > 0 {
            terminal.print(&format!(
                "{} over the size limit kept no bytes, and cannot be released.\n",
                messages(without_bytes)
            ))?;
        }
        if done.not_tried > 0 {
            terminal.print(&format!(
                "{} still held: run it again. {}\n",
                messages(done.not_tried),
                done.failed.as_deref().unwrap_or("Told to stop.")
            ))?;
        }
    }
    Ok(match () {
        () if done.not_tried > 0 => COULD_NOT,
        () if !choice.unknown.is_empty() => NOT_FOUND,
        () if unchanged().next().is_some() => NOT_CHANGED,
        () => DONE,
    })
}
