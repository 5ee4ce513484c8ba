//! What is done: publish, send while workers are killed, wait until nothing is open, compare.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::args::DemoArgs;
use super::count::Observed;
use super::crew::Crew;
use super::folder::Folder;
use super::kills;
use super::lanes::{LANES, Lane};
use super::look::{self, Look};
use super::progress::Progress;
use super::providers::Providers;
use super::publish::publish;
use super::report::{Account, Report};
use super::stage::Stage;

/// How often the providers are asked how far they are.
const TICK: Duration = Duration::from_millis(20);

/// How often the ledger is.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// When nothing has moved for this long, it will not move any more. A few times as long as a killed
/// resolver's rows rest.
const PATIENCE: Duration = Duration::from_secs(90);

/// Plays the whole demo. `None`: told to stop. No worker outlives it.
pub(super) async fn play(
    args: &DemoArgs,
    stage: &Stage,
    folder: &Folder,
    providers: &Providers,
    progress: &Progress,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Report>> {
    let publishing = publish(stage, args.messages, progress);
    let Some(published) = stop.run_until_cancelled(publishing).await else {
        return Ok(None);
    };
    published?;
    let published = u64::from(args.messages) * LANES.len() as u64;
    let mut crew = Crew::start(folder, args.workers)?;
    let mut run = Run {
        stage,
        providers,
        progress,
        crew: &mut crew,
        kills: kills::points(args.seed, args.kills, published).into(),
        killed: 0,
        published,
    };
    let rested = stop.run_until_cancelled(run.until_nothing_is_open()).await;
    let killed = run.killed;
    crew.stop().await?;
    let Some(rested) = rested else {
        return Ok(None);
    };
    rested?;
    let mut accounts = Vec::new();
    for lane in LANES {
        let observed = observe(args, stage, providers, &lane).await?;
        accounts.push(Account::new(args, lane, &observed));
    }
    let seconds = progress.seconds();
    Ok(Some(Report::new(
        args,
        killed,
        seconds,
        folder.config(),
        accounts,
    )))
}

struct Run<'a, 'f> {
    stage: &'a Stage,
    providers: &'a Providers,
    progress: &'a Progress,
    crew: &'a mut Crew<'f>,
    /// The requests after which the next kills come.
    kills: VecDeque<u64>,
    killed: u32,
    published: u64,
}

impl Run<'_, '_> {
    async fn until_nothing_is_open(&mut self) -> anyhow::Result<()> {
        let (mut seen, mut moved) = (Look::default(), Instant::now());
        loop {
            let looked = Instant::now();
            let now = look::look(&self.stage.pool).await?;
            if now != seen {
                (seen, moved) = (now, looked);
            }
            if now.rows >= self.published && now.open == 0 {
                self.show(now, self.providers.requests().await?);
                return Ok(());
            }
            if moved.elapsed() > PATIENCE {
                self.progress.line("nothing moves any more");
                return Ok(());
            }
            self.crew.check()?;
            while looked.elapsed() < LOOK_EVERY {
                let requests = self.providers.requests().await?;
                self.show(now, requests);
                let due = self.kills.front().is_some_and(|point| requests >= *point);
                if due && self.crew.in_mid_flight() {
                    self.kills.pop_front();
                    self.kill(requests).await?;
                    moved = Instant::now();
                }
                tokio::time::sleep(TICK).await;
            }
        }
    }

    async fn kill(&mut self, requests: u64) -> anyhow::Result<()> {
        let claims = look::look(&self.stage.pool).await?.claims;
        let replaced = self.crew.replace_one().await?;
        self.killed += 1;
        self.progress.line(&format!(
            "killed {} after {requests} requests, with {claims} claims under way in all; started {}",
            replaced.killed, replaced.started
        ));
        Ok(())
    }

    fn show(&self, look: Look, requests: u64) {
        let open = look.open;
        let state = format!("{open} open; {requests} requests, {} kills", self.killed);
        self.progress.at_rest(look.at_rest(), &state);
    }
}

/// What a channel's provider counted, beside what the ledger says.
async fn observe(
    args: &DemoArgs,
    stage: &Stage,
    providers: &Providers,
    lane: &Lane,
) -> anyhow::Result<Observed> {
    let counted = providers.count(lane).await?;
    let rows = look::rows(&stage.pool, lane.name).await?;
    let channel = stage.config.channels.iter().find(|c| &*c.name == lane.name);
    let quarantined = match channel {
        Some(channel) => look::quarantined(&stage.pool, &channel.queue).await?,
        None => 0,
    };
    Ok(Observed {
        quarantined,
        requests: counted.requests,
        ..Observed::compare(lane.name, u64::from(args.messages), rows, counted.sends)
    })
}
