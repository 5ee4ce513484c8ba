//! The sandbox over real HTTP: what it answers, what it sends, and what it remembers.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test")]

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use nuncio::sandbox::{FaultPlan, SandboxArgs, Settings, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A sandbox in this process, and a client for it.
struct Provider {
    address: SocketAddr,
    task: JoinHandle<io::Result<()>>,
    stop: DropGuard,
}

/// An answer read to the end of its connection.
#[derive(Debug, Clone, PartialEq)]
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// The connection ended before an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cut;

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

fn request(method: &str, path: &str, key: Option<&str>, close: bool, body: &str) -> String {
    let key = key
        .map(|key| format!("idempotency-key: {key}\r\n"))
        .unwrap_or_default();
    let close = if close { "connection: close\r\n" } else { "" };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{key}{close}content-length: {length}\r\n\r\n{body}"
    )
}

fn message(reference: &str) -> String {
    json!({"to": "+420777000111", "text": "hello", "reference": reference}).to_string()
}

async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: &str,
) -> Result<Reply, Cut> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(request(method, path, key, true, body).as_bytes())
        .await
        .unwrap();
    let mut bytes = Vec::new();
    // An error here is a reset, which is a cut too.
    let _ = stream.read_to_end(&mut bytes).await;
    let end = bytes
        .windows(4)
        .position(|end| end == b"\r\n\r\n")
        .ok_or(Cut)?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Reply {
        status,
        head,
        body: bytes[end + 4..].to_vec(),
    })
}

impl Provider {
    async fn with(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, settings, stop.clone()));
        Provider {
            address,
            task,
            stop: stop.drop_guard(),
        }
    }

    async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    async fn planned(plan: Value) -> Self {
        let provider = Self::start().await;
        assert_eq!(provider.put(plan.clone()).await.status, 200, "{plan}");
        provider
    }

    async fn put(&self, plan: Value) -> Reply {
        exchange(self.address, "PUT", "/faults", None, &plan.to_string())
            .await
            .unwrap()
    }

    async fn post(&self, path: &str) -> Value {
        exchange(self.address, "POST", path, None, "")
            .await
            .unwrap()
            .json()
    }

    async fn look(&self, path: &str) -> Reply {
        exchange(self.address, "GET", path, None, "").await.unwrap()
    }

    async fn get(&self, path: &str) -> Value {
        let reply = self.look(path).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    async fn send(&self, reference: &str, key: Option<&str>) -> Result<Reply, Cut> {
        exchange(self.address, "POST", "/send", key, &message(reference)).await
    }

    async fn send_body(&self, body: &Value) -> Reply {
        exchange(self.address, "POST", "/send", None, &body.to_string())
            .await
            .unwrap()
    }

    /// Sends without waiting for the answer.
    fn send_in_background(
        &self,
        reference: &str,
        key: Option<&'static str>,
    ) -> JoinHandle<Result<Reply, Cut>> {
        let (address, body) = (self.address, message(reference));
        tokio::spawn(async move { exchange(address, "POST", "/send", key, &body).await })
    }

    async fn sent(&self, reference: &str) -> u64 {
        let counts = self.get(&format!("/counts?reference={reference}")).await;
        counts["total"].as_u64().unwrap()
    }

    async fn records(&self, query: &str) -> Vec<Value> {
        self.get(&format!("/log?{query}")).await["records"]
            .as_array()
            .unwrap()
            .clone()
    }

    async fn requests(&self, query: &str) -> Value {
        self.get(&format!("/requests?reference={query}")).await
    }

    /// Waits for what the query asks.
    async fn wait(&self, query: &str) -> Value {
        let seen = self.requests(query).await;
        assert_eq!(seen["reached"], true, "{query}: {seen}");
        seen
    }

    async fn summary(&self) -> Value {
        self.get("/counts?summary=true").await
    }
}

#[tokio::test]
async fn an_accepted_message_is_in_the_answer_the_log_and_the_counts() {
    let provider = Provider::start().await;
    let reply = provider.send("r1", None).await.unwrap();
    let id = reply.json()["id"].clone();
    assert_eq!(reply.status, 202);
    assert_eq!(
        reply.json(),
        json!({"status": "accepted", "id": id, "reference": "r1"})
    );

    let records = provider.records("reference=r1").await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["id"], id);
    assert_eq!(records[0]["to"], "+420777000111");
    assert_eq!(records[0]["status"], "delivered");
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(records[0]["text_sha256"], hash);
    assert_eq!(
        provider.get("/counts").await,
        json!({"total": 1, "references": {"r1": 1}})
    );
}

#[tokio::test]
async fn a_body_without_recipient_or_reference_is_refused_and_sends_nothing() {
    let provider = Provider::start().await;
    let bodies = [
        json!({"text": "x", "reference": "r"}),
        json!({"to": "+1", "text": "x"}),
        json!({"to": 5, "reference": "r"}),
        json!({"to": "+1", "reference": null}),
        json!([]),
    ];
    for body in &bodies {
        let reply = provider.send_body(body).await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (400, &json!("bad_request")),
            "{body}"
        );
    }
    let summary = provider.summary().await;
    assert_eq!(
        (&summary["malformed"], &summary["sent"]),
        (&json!(5), &json!(0))
    );
}

#[tokio::test]
async fn magic_numbers_are_refused_with_their_codes_and_the_refusal_is_replayed() {
    let provider = Provider::start().await;
    for (to, code) in [
        ("+15550000001", "bad_number"),
        ("+15550000002", "opted_out"),
    ] {
        let body = json!({"to": to, "text": "x", "reference": code}).to_string();
        let send = || exchange(provider.address, "POST", "/send", Some(code), &body);
        let (first, again) = (send().await.unwrap(), send().await.unwrap());
        assert_eq!(first.status, 400);
        assert_eq!(first.json(), json!({"status": "refused", "code": code}));
        assert_eq!((again.status, &again.body), (400, &first.body));
        assert!(!first.replayed() && again.replayed());
        assert_eq!(provider.sent(code).await, 0);
    }
}

#[tokio::test]
async fn the_same_key_and_bytes_get_the_first_answer_again_and_send_nothing() {
    let provider = Provider::start().await;
    for reference in ["plain text", "67e55044-10b1-426f-9247-bb680e5fe0c8"] {
        let first = provider.send(reference, Some(reference)).await.unwrap();
        let again = provider.send(reference, Some(reference)).await.unwrap();
        assert_eq!((again.status, &again.body), (202, &first.body));
        assert!(!first.replayed() && again.replayed());
        assert_eq!(provider.sent(&reference.replace(' ', "%20")).await, 1);
    }
    assert_eq!(provider.summary().await["replays"], 2);
}

#[tokio::test]
async fn the_same_key_with_other_bytes_is_a_mismatch() {
    let provider = Provider::start().await;
    provider.send("r1", Some("k")).await.unwrap();
    let reply = provider.send("r2", Some("k")).await.unwrap();
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (409, &json!("key_mismatch"))
    );
    assert_eq!(provider.sent("r2").await, 0);
    assert_eq!(provider.summary().await["mismatches"], 1);
}

#[tokio::test]
async fn with_idempotency_off_every_repeat_is_sent() {
    let provider = Provider::planned(json!({"idempotency": false})).await;
    for _ in 0..3 {
        assert!(!provider.send("r", Some("k")).await.unwrap().replayed());
    }
    assert_eq!(provider.sent("r").await, 3);
    assert_eq!(provider.summary().await["sent_more_than_once"], 1);
    // The key was seen all the same.
    assert_eq!(provider.requests("r").await["requests"][2]["key"], "k");
}

#[tokio::test]
async fn a_repeat_during_the_first_request_is_told_to_come_back() {
    let provider = Provider::planned(json!({"script": {"r": ["hang"]}})).await;
    let first = provider.send_in_background("r", Some("k"));
    provider.wait("r&wait_for=1&accepted=true").await;

    let early = provider.send("r", Some("k")).await.unwrap();
    assert_eq!(
        (early.status, &early.json()["code"]),
        (409, &json!("in_progress"))
    );
    assert_eq!(early.header("retry-after"), Some("1"));

    provider.post("/release").await;
    let first = first.await.unwrap().unwrap();
    let late = provider.send("r", Some("k")).await.unwrap();
    assert_eq!((late.status, &late.body), (202, &first.body));
    assert!(late.replayed());
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test]
async fn of_many_requests_racing_with_one_key_one_is_sent() {
    let provider = Provider::start().await;
    let mut racing = JoinSet::new();
    for _ in 0..50 {
        let (address, body) = (provider.address, message("r"));
        racing.spawn(async move { exchange(address, "POST", "/send", Some("k"), &body).await });
    }
    let replies = racing.join_all().await;
    assert!(
        replies
            .iter()
            .all(|reply| [202, 409].contains(&reply.as_ref().unwrap().status))
    );
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test(start_paused = true)]
async fn after_the_window_a_key_is_forgotten_and_the_message_sent_again() {
    let provider = Provider::planned(json!({"window": "1h"})).await;
    provider.send("r", Some("k")).await.unwrap();
    tokio::time::advance(Duration::from_secs(3599)).await;
    assert!(provider.send("r", Some("k")).await.unwrap().replayed());
    // A replay does not prolong the window.
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!provider.send("r", Some("k")).await.unwrap().replayed());
    assert_eq!(provider.sent("r").await, 2);
}

#[tokio::test(start_paused = true)]
async fn the_log_shows_a_record_after_its_lag_and_until_its_retention_ends() {
    let provider = Provider::planned(json!({"log_lag": "5m", "log_retention": "7d"})).await;
    provider.send("r", None).await.unwrap();
    let mut shown = Vec::new();
    for seconds in [299, 2, 7 * 24 * 3600 - 302, 2] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        shown.push(provider.records("reference=r").await.len());
    }
    assert_eq!(shown, [0, 1, 1, 0]);
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test]
async fn the_log_finds_by_recipient_in_order_of_acceptance() {
    let provider = Provider::start().await;
    for reference in ["a", "b", "c"] {
        provider.send(reference, None).await.unwrap();
    }
    provider
        .send_body(&json!({"to": "x@example.org", "reference": "d"}))
        .await;
    let records = provider.records("to=%2B420777000111").await;
    let found: Vec<_> = records.iter().map(|record| &record["reference"]).collect();
    assert_eq!(found, ["a", "b", "c"]);
    assert_eq!(
        provider
            .records("to=x%40example.org&reference=d")
            .await
            .len(),
        1
    );
    assert_eq!(
        provider
            .records("to=x%40example.org&reference=a")
            .await
            .len(),
        0
    );
    assert_eq!(provider.look("/log").await.status, 400);
}

#[tokio::test]
async fn a_look_up_fails_as_planned() {
    let provider = Provider::start().await;
    for (fail, status) in [("401", 401), ("429", 429), ("500", 500), ("nonsense", 200)] {
        provider
            .put(json!({"log": {"fail": fail, "times": 1}}))
            .await;
        let reply = provider.look("/log?reference=r").await;
        assert_eq!(reply.status, status, "{fail}");
        assert!(serde_json::from_slice::<Value>(&reply.body).is_err() == (fail == "nonsense"));
        assert_eq!(reply.header("retry-after"), (fail == "429").then_some("1"));
        assert_eq!(provider.records("reference=r").await.len(), 0, "only once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_up_can_hang_until_the_client_gives_up() {
    let provider = Provider::planned(json!({"log": {"fail": "hang", "times": 1}})).await;
    let look = provider.look("/log?reference=r");
    assert!(
        tokio::time::timeout(Duration::from_secs(3_600), look)
            .await
            .is_err()
    );
    assert_eq!(provider.records("reference=r").await.len(), 0);
}

#[tokio::test]
async fn look_ups_fail_at_their_rate_and_the_same_ones_for_the_same_seed() {
    let provider = Provider::start().await;
    let mut runs = Vec::new();
    for seed in [1, 1, 2] {
        provider
            .put(json!({"seed": seed, "log": {"fail": "500", "rate": 0.3}}))
            .await;
        let mut run = Vec::new();
        for i in 0..100 {
            run.push(
                provider
                    .look(&format!("/log?reference=r{}", i % 20))
                    .await
                    .status,
            );
        }
        runs.push(run);
    }
    let failed = runs[0].iter().filter(|status| **status == 500).count();
    assert!((15..45).contains(&failed), "{failed}");
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}

/// What each fault that answers at once does: status (0: cut), physical sends; then, of a repeat
/// under the same key: status, whether replayed, physical sends in all.
const FAULTS: [(&str, u16, u64, u16, bool, u64); 26] = [
    ("ok", 202, 1, 202, true, 1),
    ("drop", 0, 0, 202, false, 1),
    ("cut_after_accept", 0, 1, 202, true, 1),
    ("accept_then_500", 500, 1, 202, true, 1),
    ("accept_then_500_forget", 500, 1, 202, false, 2),
    ("accept_then_502", 502, 1, 202, true, 1),
    ("accept_then_504", 504, 1, 202, true, 1),
    ("refuse_503", 503, 0, 202, false, 1),
    ("fail_500", 500, 0, 202, false, 1),
    ("fail_500_cached", 500, 0, 500, true, 0),
    ("throttle", 429, 0, 202, false, 1),
    ("throttle:7s", 429, 0, 202, false, 1),
    ("throttle_date", 429, 0, 202, false, 1),
    ("unauthorized", 401, 0, 202, false, 1),
    ("forbidden", 403, 0, 202, false, 1),
    ("redirect", 302, 0, 202, false, 1),
    ("slow:1ms", 202, 1, 202, true, 1),
    ("slow_accept:1ms", 202, 1, 202, true, 1),
    ("error_in_200", 200, 0, 200, true, 0),
    ("empty_200", 200, 1, 202, true, 1),
    ("html_200", 200, 1, 202, true, 1),
    ("garbage", 202, 1, 202, true, 1),
    ("nul_in_body", 202, 1, 202, true, 1),
    ("lying_2xx", 202, 0, 202, true, 0),
    ("retry_after_in_202", 202, 1, 202, true, 1),
    ("twice", 202, 2, 202, true, 2),
];

#[tokio::test]
async fn each_fault_answers_records_and_is_repeated_as_documented() {
    let provider = Provider::start().await;
    for (fault, status, sent, again, replayed, sent_again) in FAULTS {
        provider.put(json!({"script": {"*": [fault]}})).await;
        let first = provider
            .send(fault, Some(fault))
            .await
            .map_or(0, |reply| reply.status);
        assert_eq!(
            (first, provider.sent(fault).await),
            (status, sent),
            "{fault}"
        );
        let repeat = provider.send(fault, Some(fault)).await.unwrap();
        assert_eq!(
            (repeat.status, repeat.replayed()),
            (again, replayed),
            "repeat of {fault}"
        );
        assert_eq!(provider.sent(fault).await, sent_again, "repeat of {fault}");

        let seen = &provider.requests(fault).await["requests"][0];
        let answer = if status == 0 {
            json!("cut")
        } else {
            json!(status)
        };
        assert_eq!(seen["answer"], answer, "{fault}");
        let log = provider.records(&format!("reference={fault}")).await;
        assert_eq!(log.len() as u64, sent_again, "{fault}");
    }
    assert_eq!(provider.summary().await["redirects_followed"], 0);
}

#[tokio::test]
async fn the_replay_after_a_cut_names_the_message_that_is_in_the_log() {
    let provider = Provider::planned(json!({"script": {"*": ["cut_after_accept"]}})).await;
    assert_eq!(provider.send("r", Some("k")).await, Err(Cut));
    let replay = provider.send("r", Some("k")).await.unwrap();
    assert_eq!(
        replay.json()["id"],
        provider.records("reference=r").await[0]["id"]
    );
}

#[tokio::test]
async fn a_fault_of_the_answer_spoils_a_replay_too() {
    let script = json!({"script": {"r": ["ok", "cut_after_accept", "accept_then_504"]}});
    let provider = Provider::planned(script).await;
    assert_eq!(provider.send("r", Some("k")).await.unwrap().status, 202);
    assert_eq!(provider.send("r", Some("k")).await, Err(Cut));
    assert_eq!(provider.send("r", Some("k")).await.unwrap().status, 504);
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test]
async fn spoilt_answers_are_spoilt_in_the_way_their_name_says() {
    let faults = [
        "accept_then_504",
        "empty_200",
        "html_200",
        "garbage",
        "nul_in_body",
        "error_in_200",
        "redirect",
    ];
    let provider = Provider::planned(json!({"script": {"*": faults}})).await;
    let mut replies = Vec::new();
    for fault in faults {
        replies.push(provider.send(fault, None).await.unwrap());
    }
    assert!(
        replies[0]
            .header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    assert!(replies[1].body.is_empty());
    assert!(replies[2].body.starts_with(b"<html>"));
    assert!(std::str::from_utf8(&replies[3].body).is_err());
    assert!(String::from_utf8_lossy(&replies[4].body).contains("\\u0000"));
    assert!(replies[4].json()["id"].as_str().unwrap().ends_with('\0'));
    assert_eq!(replies[5].json(), json!({"status": "error", "code": 14}));
    assert_eq!(replies[6].header("location"), Some("/redirected"));
    provider.look("/redirected").await;
    assert_eq!(provider.summary().await["redirects_followed"], 1);
}

#[tokio::test]
async fn a_throttled_request_is_told_when_to_return_in_seconds_or_as_a_date() {
    let script = json!({"script": {"*": ["throttle:1500ms", "throttle_date:1h", "refuse_503"]}});
    let provider = Provider::planned(script).await;
    let after = |reply: &Reply| reply.header("retry-after").unwrap().to_owned();
    assert_eq!(after(&provider.send("a", None).await.unwrap()), "2");
    let date = after(&provider.send("b", None).await.unwrap());
    let date = chrono::NaiveDateTime::parse_from_str(&date, "%a, %d %b %Y %H:%M:%S GMT").unwrap();
    let ahead = date.and_utc() - chrono::Utc::now();
    assert!((3_590..=3_600).contains(&ahead.num_seconds()), "{ahead}");
    assert_eq!(after(&provider.send("c", None).await.unwrap()), "1");
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_comes_late_and_so_does_every_answer_under_latency() {
    let script = json!({"script": {"s": ["slow:30s"]}, "latency": "250ms"});
    let provider = Provider::planned(script).await;
    for (reference, seconds) in [("s", 30.25), ("r", 0.25)] {
        let start = tokio::time::Instant::now();
        provider.send(reference, None).await.unwrap();
        let elapsed = start.elapsed().as_secs_f64();
        assert!(
            (seconds..seconds + 0.1).contains(&elapsed),
            "{reference} {elapsed}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_acceptance_happens_even_if_the_client_gave_up() {
    let provider = Provider::planned(json!({"script": {"r": ["slow_accept:1h"]}})).await;
    let mut stream = TcpStream::connect(provider.address).await.unwrap();
    let body = message("r");
    stream
        .write_all(request("POST", "/send", None, true, &body).as_bytes())
        .await
        .unwrap();
    provider.wait("r&wait_for=1").await;
    drop(stream);
    let seen = provider.wait("r&wait_for=1&accepted=true&timeout=2h").await;
    assert_eq!(
        (&seen["reached"], &seen["accepted"]),
        (&json!(true), &json!(1))
    );
    let time = |text: &Value| chrono::DateTime::parse_from_rfc3339(text.as_str().unwrap()).unwrap();
    let accepted = time(&provider.records("reference=r").await[0]["at"]);
    assert!(accepted - time(&seen["requests"][0]["at"]) >= chrono::TimeDelta::hours(1));
}

#[tokio::test]
async fn a_client_that_leaves_a_hanging_request_finds_it_sent_and_its_key_answered() {
    let provider = Provider::planned(json!({"script": {"r": ["hang"]}})).await;
    let client = provider.send_in_background("r", Some("k"));
    provider.wait("r&wait_for=1&accepted=true").await;
    client.abort();
    let left = provider.wait("r&wait_for=1&answered=true").await;
    assert_eq!(left["requests"][0]["answer"], "client_gone");
    assert!(provider.send("r", Some("k")).await.unwrap().replayed());
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test]
async fn a_request_held_before_acceptance_is_sent_when_released() {
    let provider = Provider::planned(json!({"script": {"r": ["hang_before"]}})).await;
    let first = provider.send_in_background("r", Some("k"));
    assert_eq!(provider.wait("r&wait_for=1").await["accepted"], 0);
    provider.post("/release").await;
    assert_eq!(first.await.unwrap().unwrap().status, 202);
    assert_eq!(provider.sent("r").await, 1);
    assert_eq!(provider.summary().await["holding"], 0);
}

#[tokio::test]
async fn a_request_held_before_acceptance_is_never_sent_if_the_client_leaves() {
    let provider = Provider::planned(json!({"script": {"r": ["hang_before"]}})).await;
    let client = provider.send_in_background("r", Some("k"));
    provider.wait("r&wait_for=1").await;
    client.abort();
    let left = provider.wait("r&wait_for=1&answered=true").await;
    assert_eq!(left["requests"][0]["answer"], "client_gone");
    provider.post("/release").await;
    assert_eq!(provider.sent("r").await, 0);
    assert!(
        !provider.send("r", Some("k")).await.unwrap().replayed(),
        "the key is free again"
    );
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_has_good_headers_and_drips_for_ever() {
    let provider = Provider::planned(json!({"script": {"*": ["endless"]}})).await;
    let mut stream = TcpStream::connect(provider.address).await.unwrap();
    let body = message("r");
    stream
        .write_all(request("POST", "/send", None, true, &body).as_bytes())
        .await
        .unwrap();
    let start = tokio::time::Instant::now();
    let (mut text, mut chunk) = (String::new(), [0_u8; 256]);
    while text.matches("1\r\n \r\n").count() < 100 {
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "ended: {text}");
        text.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
    assert!(
        text.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"),
        "{text}"
    );
    assert!(start.elapsed() >= Duration::from_secs(39));
    assert_eq!(provider.sent("r").await, 1);
}

#[tokio::test]
async fn a_flood_gives_as_much_as_anyone_reads() {
    let provider = Provider::planned(json!({"script": {"*": ["flood"]}})).await;
    let mut stream = TcpStream::connect(provider.address).await.unwrap();
    let body = message("r");
    stream
        .write_all(request("POST", "/send", None, true, &body).as_bytes())
        .await
        .unwrap();
    let mut bytes = vec![0; 4 << 20];
    stream.read_exact(&mut bytes).await.unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_wrong_length_announces_more_than_it_sends() {
    let provider = Provider::planned(json!({"script": {"*": ["wrong_length"]}})).await;
    let reply = provider.send("r", Some("k")).await.unwrap();
    let announced: usize = reply.header("content-length").unwrap().parse().unwrap();
    assert_eq!(reply.status, 202);
    assert!(
        !reply.body.is_empty() && reply.body.len() < announced,
        "{reply:?}"
    );
    assert!(provider.send("r", Some("k")).await.unwrap().replayed());
}

#[tokio::test]
async fn the_most_specific_script_wins_and_ends_in_ok() {
    let provider = Provider::planned(json!({
        "rates": {"drop": 1.0},
        "script": {
            "r": ["unauthorized", "forbidden"],
            "+420777000111": ["refuse_503"],
            "*": ["throttle"],
        },
    }))
    .await;
    let mut statuses = Vec::new();
    for reference in ["r", "r", "r", "s", "s"] {
        statuses.push(provider.send(reference, None).await.unwrap().status);
    }
    let other = json!({"to": "x@example.org", "reference": "t"});
    statuses.push(provider.send_body(&other).await.status);
    statuses.push(provider.send_body(&other).await.status);
    assert_eq!(statuses, [401, 403, 202, 503, 202, 429, 202]);
}

/// Sends three times to each of 200 references, `width` at once, and lists the faults drawn.
async fn drawn_faults(
    seed: u64,
    width: usize,
    backwards: bool,
) -> BTreeSet<(String, usize, String)> {
    let rates = json!({"drop": 0.1, "cut_after_accept": 0.1, "accept_then_504": 0.2});
    let provider = Provider::planned(json!({"seed": seed, "rates": rates})).await;
    let mut references: Vec<String> = (0..200).map(|i| format!("r{i}")).collect();
    if backwards {
        references.reverse();
    }
    for batch in references.chunks(width) {
        let mut running = JoinSet::new();
        for reference in batch.iter().cycle().take(batch.len() * 3) {
            let (address, body) = (provider.address, message(reference));
            running.spawn(async move { exchange(address, "POST", "/send", None, &body).await });
        }
        running.join_all().await;
    }
    let mut drawn = BTreeSet::new();
    for reference in references {
        let requests = provider.requests(&reference).await["requests"].clone();
        for (number, seen) in requests.as_array().unwrap().iter().enumerate() {
            drawn.insert((
                reference.clone(),
                number,
                seen["fault"].as_str().unwrap().to_owned(),
            ));
        }
    }
    drawn
}

#[tokio::test]
async fn drawn_faults_depend_on_seed_and_reference_and_number_alone() {
    let alone = drawn_faults(34, 1, false).await;
    assert_eq!(alone, drawn_faults(34, 25, true).await);
    assert_ne!(alone, drawn_faults(35, 1, false).await);
    let share = |name| alone.iter().filter(|(_, _, fault)| fault == name).count() as f64 / 600.0;
    for (name, rate) in [
        ("drop", 0.1),
        ("cut_after_accept", 0.09),
        ("accept_then_504", 0.18),
    ] {
        assert!((share(name) - rate).abs() < 0.05, "{name}: {}", share(name));
    }
}

#[tokio::test]
async fn concurrent_requests_are_all_counted() {
    let provider = Provider::start().await;
    let mut running = JoinSet::new();
    for worker in 0..40 {
        let address = provider.address;
        running.spawn(async move {
            let mut replies = Vec::new();
            for i in 0..10 {
                let body = message(&format!("r{}", (worker * 10 + i) % 100));
                replies.push(exchange(address, "POST", "/send", None, &body).await);
            }
            replies
        });
    }
    let replies = running.join_all().await.concat();
    let ids: BTreeSet<_> = replies
        .iter()
        .map(|reply| reply.as_ref().unwrap().json()["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 400);
    let counts = provider.get("/counts").await;
    assert_eq!(counts["total"], 400);
    assert!(
        counts["references"]
            .as_object()
            .unwrap()
            .values()
            .all(|count| count == 4)
    );
    let summary = provider.summary().await;
    assert_eq!(summary["references"], 100);
    assert_eq!(summary["sent_more_than_once"], 100);
}

#[tokio::test]
async fn requests_of_a_reference_show_key_hash_fault_and_answer_in_order() {
    let script = json!({"script": {"r": ["drop", "refuse_503"]}});
    let provider = Provider::with(Settings {
        keep_bodies: true,
        ..Settings::default()
    })
    .await;
    provider.put(script).await;
    provider.send("r", Some("k1")).await.unwrap_err();
    provider.send("r", Some("k1")).await.unwrap();
    provider.send("r", None).await.unwrap();
    let seen = provider.requests("r&bodies=true").await;
    let column = |name: &str| -> Vec<Value> {
        seen["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|seen| seen[name].clone())
            .collect()
    };
    assert_eq!(column("number"), [1, 2, 3]);
    assert_eq!(column("key"), [json!("k1"), json!("k1"), Value::Null]);
    assert_eq!(column("fault"), ["drop", "refuse_503", "ok"]);
    assert_eq!(column("answer"), [json!("cut"), json!(503), json!(202)]);
    assert_eq!(column("body"), [message("r"), message("r"), message("r")]);
    assert_eq!(column("body_sha256")[0], column("body_sha256")[2]);
    assert_eq!(seen["accepted"], 1);
}

#[tokio::test]
async fn waiting_ends_when_the_request_arrives_and_says_so_when_none_does() {
    let provider = Provider::start().await;
    let address = provider.address;
    let waiting = tokio::spawn(async move {
        exchange(address, "GET", "/requests?reference=r&wait_for=2", None, "").await
    });
    provider.send("r", None).await.unwrap();
    provider.send("r", None).await.unwrap();
    let seen = waiting.await.unwrap().unwrap().json();
    assert_eq!(
        (&seen["reached"], &seen["accepted"]),
        (&json!(true), &json!(2))
    );

    let seen = provider.requests("other&wait_for=1&timeout=1ms").await;
    assert_eq!(
        (&seen["reached"], &seen["requests"]),
        (&json!(false), &json!([]))
    );
}

#[tokio::test]
async fn a_plan_with_a_mistake_is_refused_with_what_is_wrong_and_changes_nothing() {
    let provider = Provider::planned(json!({"seed": 7})).await;
    let mistakes = [
        (json!({"sed": 1}), "sed"),
        (json!({"rates": {"explode": 0.1}}), "cut_after_accept"),
        (json!({"rates": {"drop": 1.5}}), "drop"),
        (json!({"rates": {"hang": 0.6, "flood": 0.6}}), "1.2"),
        (json!({"script": {"r": ["slow"]}}), "duration"),
        (json!({"log": {"fail": "418"}}), "418"),
        (json!({"log": {"fail": "500", "rate": -1.0}}), "log"),
        (json!({"log_lag": "soon"}), "soon"),
    ];
    for (plan, part) in mistakes {
        let reply = provider.put(plan.clone()).await;
        assert_eq!(reply.status, 400, "{plan}");
        let text = reply.json()["message"].to_string();
        assert!(text.contains(part), "{plan}: {text}");
    }
    assert_eq!(provider.get("/faults").await["seed"], 7);
}

#[tokio::test]
async fn a_plan_reads_back_as_it_was_put() {
    let plan = json!({
        "seed": 34,
        "rates": {"drop": 0.1, "slow:30s": 0.2},
        "script": {"r": ["cut_after_accept", "throttle_date:2s"]},
        "log": {"fail": "429", "rate": 0.5, "times": 3},
        "log_lag": "2s", "log_retention": "7days", "window": "1h", "latency": "5ms",
        "idempotency": false,
    });
    let provider = Provider::planned(plan.clone()).await;
    assert_eq!(provider.get("/faults").await, plan);
}

#[tokio::test]
async fn a_reset_forgets_records_and_keys_and_keeps_the_plan() {
    let provider = Provider::planned(json!({"seed": 7})).await;
    provider.send("r", Some("k")).await.unwrap();
    provider.post("/reset").await;
    assert_eq!(
        provider.get("/counts").await,
        json!({"total": 0, "references": {}})
    );
    assert_eq!(provider.summary().await["requests"], 0);
    assert!(!provider.send("r", Some("k")).await.unwrap().replayed());
    assert_eq!(provider.get("/faults").await["seed"], 7);
}

#[tokio::test]
async fn an_answered_connection_serves_the_next_request() {
    let provider = Provider::start().await;
    let mut stream = TcpStream::connect(provider.address).await.unwrap();
    for reference in ["a", "b"] {
        let body = message(reference);
        stream
            .write_all(request("POST", "/send", None, false, &body).as_bytes())
            .await
            .unwrap();
        let (mut text, mut chunk) = (String::new(), [0_u8; 1024]);
        while !text.ends_with('}') {
            let read = stream.read(&mut chunk).await.unwrap();
            assert!(read > 0, "closed: {text}");
            text.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
    }
    assert_eq!(provider.summary().await["sent"], 2);
}

#[tokio::test]
async fn forgetting_keeps_totals_and_the_time_from_publishing_to_arrival() {
    let provider = Provider::with(Settings {
        forget: true,
        ..Settings::default()
    })
    .await;
    let now = chrono::Utc::now().timestamp_micros();
    for (i, published) in [json!(now.to_string()), json!(now - 1_000_000)]
        .into_iter()
        .enumerate()
    {
        let metadata = json!({"published_us": published});
        let body = json!({"to": "+1", "reference": i.to_string(), "metadata": metadata});
        assert_eq!(provider.send_body(&body).await.status, 202);
    }
    let summary = provider.summary().await;
    assert_eq!(
        (&summary["sent"], &summary["references"]),
        (&json!(2), &Value::Null)
    );
    let delays = &summary["publish_to_arrival"];
    assert_eq!(delays["count"], 2);
    assert!(delays["max_us"].as_u64().unwrap() >= 1_000_000, "{delays}");
    assert_eq!(
        provider.get("/counts").await,
        json!({"total": 2, "references": {}})
    );
}

#[tokio::test]
async fn shutdown_cuts_what_hangs_and_ends_the_server() {
    let provider = Provider::planned(json!({"script": {"*": ["hang"]}})).await;
    let hanging = provider.send_in_background("r", None);
    provider.wait("r&wait_for=1").await;
    drop(provider.stop);
    assert!(provider.task.await.unwrap().is_ok());
    assert_eq!(hanging.await.unwrap(), Err(Cut));
}

#[tokio::test]
async fn a_plan_that_cannot_be_drawn_from_stops_the_start() {
    let plan: FaultPlan = serde_json::from_value(json!({"rates": {"drop": 2.0}})).unwrap();
    let provider = Provider::with(Settings {
        plan,
        ..Settings::default()
    })
    .await;
    let error = provider.task.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: SandboxArgs,
}

#[test]
fn the_command_line_is_turned_into_settings() {
    let settings = |args: &[&str]| Cli::try_parse_from(args).map(|cli| cli.args.settings());
    let plain = settings(&["sandbox"]).unwrap();
    assert_eq!(
        plain.plan,
        FaultPlan {
            seed: 34,
            ..FaultPlan::default()
        }
    );
    assert_eq!(plain.window, Duration::from_secs(86_400));
    assert!(plain.idempotency);

    let args = [
        "sandbox",
        "--drop",
        "0.1",
        "--cut",
        "0.2",
        "--log-lag",
        "2s",
        "--no-idempotency",
    ];
    let faulty = settings(&args).unwrap();
    let plan = json!({"seed": 34, "rates": {"drop": 0.1, "cut_after_accept": 0.2}});
    assert_eq!(faulty.plan, serde_json::from_value(plan).unwrap());
    assert_eq!(faulty.log_lag, Duration::from_secs(2));
    assert!(!faulty.idempotency);
    assert!(settings(&["sandbox", "--drop", "10"]).is_err());
}
