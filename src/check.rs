//! `nuncio check`: is the configuration right, and is everything there that it names?

use std::process::ExitCode;

use serde_json::json;

use crate::config::{Config, capability_words};
use crate::intake::consumer::connect;
use crate::ledger::Ledger;

/// Checks the configuration, and tries what it names.
///
/// The file itself is read first: every mistake in it is printed with its line, and the exit code
/// is 64. Then the database and the broker are tried; exit code 1 if one of them does not answer.
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
