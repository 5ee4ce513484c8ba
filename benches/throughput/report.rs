//! The tables, and the same as JSON.

use serde_json::{Value, json};

use crate::delay::{Delay, RATE};
use crate::figures::Spread;
use crate::machine::Machine;
use crate::speed::Speed;
use crate::worker::{Kind, Worker};

/// Everything that was seen.
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) messages: u64,
    pub(crate) in_flight: usize,
    pub(crate) lines: Vec<Line>,
    pub(crate) memory: Option<Memory>,
}

/// A worker and its runs, one a round.
pub(crate) struct Line {
    pub(crate) worker: Worker,
    pub(crate) speeds: Vec<Speed>,
    pub(crate) delays: Vec<Delay>,
}

/// The run with many in flight.
pub(crate) struct Memory {
    pub(crate) mean_in_flight: f64,
    pub(crate) peak_mb: Option<f64>,
}

/// One worker's figures, in the order of the columns.
struct Row {
    name: String,
    rate: Option<Spread>,
    of_the_floor: Option<Spread>,
    of_naive: Option<Spread>,
    cpu_us: [Option<Spread>; 4],
    memory_mb: Option<Spread>,
    p50_ms: Option<Spread>,
    p99_ms: Option<Spread>,
}

impl Line {
    pub(crate) fn new(worker: Worker) -> Self {
        Self {
            worker,
            speeds: Vec::new(),
            delays: Vec::new(),
        }
    }

    /// Speed against another worker's, round by round, so that what slows a whole round down
    /// slows both.
    fn against(&self, other: Option<&Self>) -> Option<Spread> {
        let pairs = self.speeds.iter().zip(&other?.speeds);
        Spread::of(pairs.map(|(own, other)| Some(own.rate / other.rate)))
    }
}

impl Report {
    pub(crate) fn print(&self, as_json: bool) -> anyhow::Result<()> {
        let text = self.text();
        if as_json {
            eprintln!("\n{text}");
            println!("{}", serde_json::to_string_pretty(&self.json())?);
        } else {
            println!("\n{text}");
        }
        Ok(())
    }

    fn rows(&self) -> Vec<Row> {
        let find = |kind| self.lines.iter().find(|line| line.worker.kind == kind);
        let (floor, naive) = (find(Kind::Floor), find(Kind::Naive));
        let row = |line: &Line| {
            let speeds = || line.speeds.iter();
            let delays = || line.delays.iter();
            Row {
                name: line.worker.name.clone(),
                rate: Spread::of(speeds().map(|s| Some(s.rate))),
                of_the_floor: line.against(floor),
                of_naive: line.against(naive),
                cpu_us: std::array::from_fn(|i| Spread::of(speeds().map(|s| s.cpu_us[i]))),
                memory_mb: Spread::of(speeds().map(|s| s.memory)),
                p50_ms: Spread::of(delays().map(|d| Some(d.p50))),
                p99_ms: Spread::of(delays().map(|d| Some(d.p99))),
            }
        };
        self.lines.iter().map(row).collect()
    }

    fn text(&self) -> String {
        let machine = &self.machine;
        let mut text = format!(
            "{} × {}, {} GiB, {}, Postgres {}, RabbitMQ {}; load before: {}\n\
             {} messages, {} in flight; median (min, max) of {} rounds\n\n",
            machine.cores,
            machine.processor,
            machine.memory_gib.unwrap_or_default(),
            machine.system,
            machine.postgres,
            machine.rabbitmq,
            machine.load_before.unwrap_or_default(),
            self.messages,
            self.in_flight,
            self.lines.first().map_or(0, |line| line.speeds.len()),
        );
        text += "| worker | messages/s | of the floor | × naive | CPU µs per message: worker / Postgres / RabbitMQ / provider | memory, MB |\n|---|---|---|---|---|---|\n";
        let rows = self.rows();
        for row in &rows {
            let cpu = row.cpu_us.map(|part| middle(part, 0)).join(" / ");
            text += &format!(
                "| {} | {} | {} | {} | {cpu} | {} |\n",
                row.name,
                wide(row.rate, 0),
                wide(row.of_the_floor, 2),
                wide(row.of_naive, 1),
                middle(row.memory_mb, 1),
            );
        }
        if rows.iter().any(|row| row.p50_ms.is_some()) {
            text += &format!(
                "\n| at {RATE} messages/s, from publishing to the provider | p50, ms | p99, ms |\n|---|---|---|\n"
            );
            for row in &rows {
                let (p50, p99) = (wide(row.p50_ms, 2), wide(row.p99_ms, 2));
                text += &format!("| {} | {p50} | {p99} |\n", row.name);
            }
        }
        if let Some(memory) = &self.memory {
            let peak = memory
                .peak_mb
                .map_or_else(unknown, |peak| format!("{peak:.1} MB"));
            text += &format!(
                "\nnuncio's peak memory with {:.0} in flight: {peak}\n",
                memory.mean_in_flight
            );
        }
        text
    }

    fn json(&self) -> Value {
        let rows = self.rows();
        let workers: Vec<Value> = rows
            .iter()
            .map(|row| {
                let [worker, postgres, rabbitmq, provider] = row.cpu_us;
                json!({
                    "worker": row.name,
                    "messages_per_second": row.rate,
                    "of_the_floor": row.of_the_floor,
                    "of_naive": row.of_naive,
                    "cpu_us_per_message": {
                        "worker": worker, "postgres": postgres,
                        "rabbitmq": rabbitmq, "provider": provider,
                    },
                    "peak_memory_mb": row.memory_mb,
                    "p50_ms": row.p50_ms,
                    "p99_ms": row.p99_ms,
                })
            })
            .collect();
        let memory = self.memory.as_ref().map(
            |memory| json!({"mean_in_flight": memory.mean_in_flight, "peak_mb": memory.peak_mb}),
        );
        json!({
            "machine": self.machine,
            "messages": self.messages,
            "in_flight": self.in_flight,
            "workers": workers,
            "delay_at_messages_per_second": RATE,
            "many_in_flight": memory,
        })
    }
}

fn unknown() -> String {
    "–".to_owned()
}

fn middle(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(unknown, |spread| format!("{:.digits$}", spread.median))
}

fn wide(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(unknown, |Spread { median, min, max }| {
        format!("{median:.digits$} ({min:.digits$}, {max:.digits$})")
    })
}
