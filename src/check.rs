//! `nuncio check`: is the configuration right, and is everything there that it names?

use std::collections::HashSet;
use std::process::ExitCode;

use chrono::Utc;
use serde_json::json;
use uuid::Uuid;

use crate::config::{Channel, Config, capability_words};
use crate::domain::notification::{Content, Notification};
use crate::domain::outcome::LookUpAnswer;
use crate::intake::subscription::connect;
use crate::ledger::Ledger;
use crate::provider::client::Client;
use crate::provider::{Message, Question};

/// Checks the configuration, and tries what it names.
///
/// The file itself is read first: every mistake in it is printed with its line, and the exit code
/// is 64. Then the database, the broker and the providers' logs are tried; exit code 1 if one of
/// them does not answer as it should.
#[derive(clap::Args, Debug)]
pub struct CheckArgs {
    /// Only the file: connect to nothing.
    #[arg(long)]
    offline: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One thing that was tried.
struct Tried {
    what: String,
    wrong: Option<String>,
}

/// Tries what the configuration names and prints what it found.
pub async fn run(config: &Config, args: &CheckArgs) -> ExitCode {
    let mut tried = Vec::new();
    if !args.offline {
        tried.push(Tried {
            what: "the database".into(),
            wrong: database(config).await.err(),
        });
        tried.push(Tried {
            what: "the broker".into(),
            wrong: broker(config).await.err(),
        });
        tried.extend(look_ups(config).await);
    }
    let well = tried.iter().all(|t| t.wrong.is_none());
    if args.json {
        println!("{}", as_json(config, &tried, well));
    } else {
        print(config, &tried);
    }
    ExitCode::from(u8::from(!well))
}

async fn database(config: &Config) -> Result<(), String> {
    let database = &config.database;
    let ledger = Ledger::open(&database.url, 1, database.pgbouncer).map_err(|e| e.to_string())?;
    match ledger.writable().await {
        Ok(true) => Ok(()),
        Ok(false) => Err("it answers, but takes no writes".into()),
        Err(error) => Err(error.to_string()),
    }
}

async fn broker(config: &Config) -> Result<(), String> {
    let connection = connect(&config.broker, "nuncio check")
        .await
        .map_err(|error| error.to_string())?;
    // It answered; how the connection ends does not matter.
    let _ = connection.close(200, "done".into()).await;
    Ok(())
}

/// Asks every provider's log for a message that cannot be there. "Not there" is the right answer.
async fn look_ups(config: &Config) -> Vec<Tried> {
    let mut tried = Vec::new();
    let mut seen = HashSet::new();
    let client = Client::new();
    for channel in &config.channels {
        let provider = &channel.provider;
        let can_be_asked = provider.adapter.capability().look_up.proves_absence();
        if can_be_asked && seen.insert(provider.name.clone()) {
            let wrong = match &client {
                Ok(client) => look_up(channel, client).await.err(),
                Err(error) => Some(error.to_string()),
            };
            tried.push(Tried {
                what: format!("the log of {}", provider.name),
                wrong,
            });
        }
    }
    tried
}

async fn look_up(channel: &Channel, client: &Client) -> Result<(), String> {
    let notification = Notification {
        id: Uuid::nil(),
        channel: channel.name.clone(),
        key: format!("nuncio check {}", Uuid::new_v4()),
        to: String::new(),
        content: Content::default(),
        send_at: None,
        expires_at: None,
        stream: None,
        seq: None,
    };
    let question = Question {
        message: Message::new(channel, &notification, 1),
        from: Utc::now(),
        until: Utc::now(),
    };
    let provider = &channel.provider;
    let request = provider
        .adapter
        .look_up(&question)
        .ok_or("the question cannot be put")?;
    let answer = client
        .exchange(request, provider.request_timeout)
        .await
        .map_err(|failure| failure.to_string())?;
    match provider.adapter.found(&question, &answer) {
        LookUpAnswer::Absent => Ok(()),
        LookUpAnswer::Found(_) => Err("it finds a message that was never sent".into()),
        LookUpAnswer::Failed { text, .. } => Err(text),
    }
}

fn print(config: &Config, tried: &[Tried]) {
    for warning in &config.warnings {
        println!("warning  {warning}");
    }
    for channel in &config.channels {
        println!(
            "channel  {} ({}, {})",
            channel.name, channel.kind, channel.policy
        );
        for line in capability_words(&channel.provider.adapter.capability(), channel.policy) {
            println!("         {line}");
        }
    }
    for Tried { what, wrong } in tried {
        match wrong {
            None => println!("ok       {what}"),
            Some(wrong) => println!("failed   {what}: {wrong}"),
        }
    }
}

fn as_json(config: &Config, tried: &[Tried], well: bool) -> serde_json::Value {
    let channels: Vec<_> = config
        .channels
        .iter()
        .map(|c| {
            json!({
                "name": &*c.name,
                "kind": c.kind.as_str(),
                "policy": c.policy.as_str(),
                "provider": &*c.provider.name,
                "in_doubt": capability_words(&c.provider.adapter.capability(), c.policy),
            })
        })
        .collect();
    let tried: Vec<_> = tried
        .iter()
        .map(|t| json!({ "what": t.what, "ok": t.wrong.is_none(), "error": t.wrong }))
        .collect();
    json!({ "ok": well, "channels": channels, "tried": tried, "warnings": config.warnings })
}
