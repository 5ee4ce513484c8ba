//! The command line: one enum of commands, each a few lines into the library.

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use nuncio::app::{self, Role};
use nuncio::config::{self, Config};
use nuncio::demo::{self, DemoArgs};
use nuncio::intake::publish::{self, PublishArgs};
use nuncio::ledger::Ledger;
use nuncio::ops::{self, OpsError, Terminal, explain, list, quarantine, redrive, resolve};
use nuncio::plan::{self, PlanArgs};
use nuncio::sandbox::{self, SandboxArgs};
use nuncio::{check, telemetry};
use tokio_util::sync::CancellationToken;

/// Exit code for a configuration that cannot be used (EX_USAGE of sysexits.h).
const USAGE: u8 = 64;

/// Exit code when a part of the process panicked (EX_SOFTWARE).
const SOFTWARE: u8 = 70;

/// Sends SMS and email from RabbitMQ, keeps a ledger of every claim to send, and can say at any
/// moment whether a message was sent, was not sent, or is in doubt, and what proves it.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    /// Configuration file.
    #[arg(
        long,
        global = true,
        env = "NUNCIO_CONFIG",
        default_value = "nuncio.toml"
    )]
    config: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reads queues, sends, settles doubt. Scale by starting more.
    Run {
        /// What this process does.
        #[arg(
            long,
            value_enum,
            value_delimiter = ',',
            default_value = "worker,resolver"
        )]
        role: Vec<Role>,
    },
    /// Checks the configuration, and tries the database, the broker and the providers' look-ups.
    Check(check::CheckArgs),
    /// Puts one notification on its queue.
    Publish(PublishArgs),
    /// Lists notifications: what is stuck, or any others.
    List(list::ListArgs),
    /// Tells the whole story of one notification, and what can be done about it.
    Explain(explain::ExplainArgs),
    /// Decides about one notification that waits for a person.
    Resolve(resolve::ResolveArgs),
    /// Shows the messages that could not become a row, releases or drops them.
    Quarantine(quarantine::QuarantineArgs),
    /// Moves dead letters back to their queue.
    Redrive(redrive::RedriveArgs),
    /// A local provider with programmable faults, for trying things out.
    Sandbox(SandboxArgs),
    /// The whole system on real services: losses, killed workers, and the table of what happened.
    Demo(DemoArgs),
    /// Says with numbers which policy fits a channel.
    Plan(PlanArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, 1),
    };
    runtime.block_on(command(cli))
}

async fn command(cli: Cli) -> ExitCode {
    let config = || load(&cli.config);
    match cli.command {
        Command::Run { role } => {
            // Heard before anything that takes time.
            let stop = app::stop_on_signal();
            with(config(), async |config| run(config, &role, stop).await).await
        }
        Command::Check(args) => {
            with(config(), async |config| check::run(&config, &args).await).await
        }
        Command::Publish(args) => {
            with(config(), async |config| {
                match publish::run(&config, &args).await {
                    Ok(said) => say(&said),
                    Err(error) => fail(&error, 1),
                }
            })
            .await
        }
        Command::List(args) => {
            by_hand(config(), async |ledger, _, terminal| {
                list::run(ledger, &args, terminal).await
            })
            .await
        }
        Command::Explain(args) => {
            by_hand(config(), async |ledger, config, terminal| {
                let channels = config.channels.iter();
                let channels: Vec<&str> = channels.map(|channel| &*channel.name).collect();
                explain::run(ledger, &channels, &args, terminal).await
            })
            .await
        }
        Command::Resolve(args) => {
            by_hand(config(), async |ledger, _, terminal| {
                resolve::run(ledger, &args, terminal).await
            })
            .await
        }
        Command::Quarantine(args) => {
            by_hand(config(), async |ledger, config, terminal| {
                quarantine::run(ledger, config, &args, terminal, &app::stop_on_signal).await
            })
            .await
        }
        Command::Redrive(args) => {
            by_hand(config(), async |_, config, terminal| {
                let stop = app::stop_on_signal();
                redrive::run(config, &args, terminal, &stop).await
            })
            .await
        }
        Command::Sandbox(args) => {
            telemetry::start(config::LogFormat::Text);
            match sandbox::run(args, app::stop_on_signal()).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&error, 1),
            }
        }
        Command::Demo(args) => demo::run(&args).await,
        Command::Plan(args) => say(&plan::run(&args)),
    }
}

async fn run(config: Config, roles: &[Role], stop: CancellationToken) -> ExitCode {
    telemetry::start(config.log.format);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    match app::run(config, roles, stop).await {
        Ok(left) if left.panicked => ExitCode::from(SOFTWARE),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 1),
    }
}

fn load(path: &std::path::Path) -> Result<Config, ExitCode> {
    config::load(path, &|name| std::env::var(name).ok()).map_err(|errors| fail(&errors, USAGE))
}

async fn with(
    config: Result<Config, ExitCode>,
    run: impl AsyncFnOnce(Config) -> ExitCode,
) -> ExitCode {
    match config {
        Ok(config) => run(config).await,
        Err(code) => code,
    }
}

/// One of the on-call's commands, at this process's terminal.
async fn by_hand(
    config: Result<Config, ExitCode>,
    run: impl AsyncFnOnce(&Ledger, &Config, &mut Terminal<'_>) -> Result<u8, OpsError>,
) -> ExitCode {
    let config = match config {
        Ok(config) => config,
        Err(code) => return code,
    };
    let database = &config.database;
    let ledger = match Ledger::open(&database.url, 1, database.pgbouncer) {
        Ok(ledger) => ledger,
        Err(error) => return fail(&error, ops::COULD_NOT),
    };
    let (mut out, mut input) = (io::stdout().lock(), io::stdin().lock());
    let at_a_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut terminal = Terminal {
        out: &mut out,
        input: at_a_terminal.then_some(&mut input as &mut dyn BufRead),
    };
    match run(&ledger, &config, &mut terminal).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(&error, error.exit_code()),
    }
}

fn say(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("nuncio: {error}");
    ExitCode::from(code)
}
