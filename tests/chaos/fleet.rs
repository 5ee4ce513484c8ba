//! The workers of a round: each has a place, and a new process comes into it when one goes.

use crate::harness::{Config, Ended, Worker, World};

/// Where Debian has it. It is loaded into a worker whose clock is to be wrong.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// The workers.
pub struct Fleet<'w> {
    world: &'w World,
    config: Config,
    /// How wrong clocks are, in minutes.
    clocks: u32,
    places: Vec<Worker>,
    /// Told to stop, and not yet seen to end.
    stopping: Vec<Worker>,
    /// How those that were told to stop have ended.
    ended: Vec<Ended>,
}

impl<'w> Fleet<'w> {
    /// Nobody yet.
    pub fn new(world: &'w World, config: &Config, clocks: u32) -> Self {
        assert!(
            clocks == 0 || std::path::Path::new(FAKETIME).exists(),
            "wrong clocks need the package libfaketime: {FAKETIME} is not there"
        );
        Self {
            world,
            config: config.clone(),
            clocks,
            places: Vec::new(),
            stopping: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Starts so many.
    pub fn start(&mut self, workers: usize) {
        for place in 0..workers {
            let worker = self.spawn(place);
            self.places.push(worker);
        }
    }

    /// Waits until all are ready.
    pub async fn ready(&mut self) {
        for worker in &mut self.places {
            worker.ready().await;
        }
    }

    /// SIGKILL, and the next one.
    pub async fn kill(&mut self, place: usize) {
        self.places[place].kill().await;
        self.places[place] = self.spawn(place);
    }

    /// SIGSTOP.
    pub fn stand_still(&self, place: usize) {
        self.places[place].stand_still();
    }

    /// SIGCONT.
    pub fn go_on(&self, place: usize) {
        self.places[place].go_on();
    }

    /// SIGCONT to everybody, whoever stands still.
    pub fn all_go_on(&self) {
        for worker in self.places.iter().chain(&self.stopping) {
            worker.go_on();
        }
    }

    /// SIGTERM, and the next one beside it.
    pub fn restart(&mut self, place: usize) {
        let next = self.spawn(place);
        let old = std::mem::replace(&mut self.places[place], next);
        old.terminate();
        self.stopping.push(old);
    }

    /// Whoever has ended by itself is a failure.
    pub fn all_run(&mut self) {
        for worker in &mut self.places {
            if let Some(ended) = worker.has_ended() {
                panic!("a worker has ended by itself ({:?})", ended.code);
            }
        }
    }

    /// SIGTERM to all, and waits for the end. All must end well.
    pub async fn stop(&mut self) {
        for worker in self.places.drain(..) {
            worker.terminate();
            self.stopping.push(worker);
        }
        for mut worker in self.stopping.drain(..) {
            self.ended.push(worker.ended().await);
        }
        for ended in &self.ended {
            assert_eq!(
                ended.code,
                Some(0),
                "the end of a worker that was told to stop"
            );
        }
    }

    /// Memory of the largest one, in bytes.
    pub fn largest(&self) -> u64 {
        let sizes = self.places.iter().map(Worker::resident);
        sizes.max().unwrap_or_default()
    }

    fn spawn(&self, place: usize) -> Worker {
        let sign = if place.is_multiple_of(2) { '-' } else { '+' };
        let wrong = [
            ("LD_PRELOAD", FAKETIME.to_owned()),
            ("FAKETIME", format!("{sign}{}m", self.clocks)),
            // Timers measure durations: only the wall clock is wrong.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        let environment = if self.clocks == 0 { &[] } else { &wrong[..] };
        self.world.spawn_with(&self.config, &[], environment)
    }
}
