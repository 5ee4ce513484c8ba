//! The command line of `nuncio demo`.

use clap::builder::RangedU64ValueParser;

use crate::plan::Probability;

/// What every name of a demo begins with, so that it never touches anything else.
const NAME: &str = "nuncio-demo";

/// Losses above this make at-least-once take minutes, and show nothing new.
const MOST_LOST: f64 = 0.5;

/// Shows on real Postgres and RabbitMQ what each policy does when requests and answers get lost and
/// workers are killed.
///
/// Publishes to three channels (at-most-once; at-least-once; at-least-once with idempotency key and
/// look-up), sends through local providers that fail on demand, kills worker processes in
/// mid-flight, and compares what was physically sent with the ledger. Uses a database, an exchange
/// and queues of its own, on the servers that NUNCIO_DATABASE_URL and NUNCIO_AMQP_URL name.
#[derive(clap::Args, Clone, Debug)]
pub struct DemoArgs {
    /// Notifications on each of the three channels.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = RangedU64ValueParser::<u32>::new().range(1..=100_000))]
    pub messages: u32,
    /// Seed of what is lost, and of when workers are killed.
    #[arg(long, value_name = "N", default_value_t = 34)]
    pub seed: u64,
    /// Share of requests lost on their way to the provider, up to 0.5.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    pub drop: Probability,
    /// Share of answers lost on their way back, up to 0.5.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    pub cut: Probability,
    /// How often a worker process is killed with SIGKILL in mid-flight, and started again.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = RangedU64ValueParser::<u32>::new().range(0..=20))]
    pub kills: u32,
    /// Worker processes at a time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<u32>::new().range(1..=16))]
    pub workers: u32,
    /// Leave database, queues and folder for looking around. The next demo clears the first two.
    #[arg(long)]
    pub keep: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Name of exchange and database, and start of the queues' names. Two demos at the same time
    /// need two names; each begins with nuncio-demo.
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = name)]
    pub name: String,
}

fn share(text: &str) -> Result<Probability, String> {
    let share: Probability = text.parse().map_err(|error| format!("{error}"))?;
    if share.get() > MOST_LOST {
        return Err(format!("at most {MOST_LOST}"));
    }
    Ok(share)
}

/// A name that can be an identifier of Postgres, and cannot be that of somebody's data.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = text.len() <= 40
        && text.starts_with(NAME)
        && text
            .bytes()
            .all(|b| b == b'-' || b.is_ascii_lowercase() || b.is_ascii_digit());
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "begins with {NAME}; lower-case letters, digits and hyphens, 40 at most"
        ))
    }
}
