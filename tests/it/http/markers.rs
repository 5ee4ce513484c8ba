//! Content, recipients and secrets stay out of everything that is printed or kept beside the
//! message itself, whatever goes wrong and however much is logged.

use std::net::SocketAddr;
use std::process::Stdio;

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use super::super::harness::{Channel, Config, Gives, Http, Proxy, World, wait_until};

const NUMBER: &str = "15550001234";
const TEXT: &str = "code 918273";
const KEY: &str = "KEYMARK";
const SECRETS: [&str; 4] = ["BEARERMARK", "TOKENMARK", "DBPWMARK", "AMQPMARK"];

/// Refuses every message in its own words, and then some of ours.
async fn parrot() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(repeat(stream));
        }
    });
    address
}

async fn repeat(mut stream: TcpStream) {
    let mut heard = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        heard.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&heard).into_owned();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        let Some(Ok(body)) = body.map(serde_json::from_str::<Value>) else {
            continue;
        };
        let words = format!("to {} the text {} is no good", body["to"], body["text"]);
        let answer = json!({ "code": "bad_number", "message": words }).to_string();
        let size = answer.len();
        let answer = format!("HTTP/1.1 400 No\r\ncontent-length: {size}\r\n\r\n{answer}");
        let _ = stream.write_all(answer.as_bytes()).await;
        return;
    }
}

/// `nuncio run`, as talkative as it can be made.
fn talkative(world: &World, config: &Config) -> (Child, std::path::PathBuf) {
    let file = world.file(config);
    let log = file.with_extension("trace");
    let output = std::fs::File::create(&log).expect("a file");
    let child = Command::new(env!("CARGO_BIN_EXE_nuncio"))
        .arg("run")
        .arg("--config")
        .arg(file)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a file"))
        .stderr(output)
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started");
    (child, log)
}

async fn address(log: &std::path::Path) -> String {
    wait_until("it listens", async || {
        let text = std::fs::read_to_string(log).ok()?;
        let rest = text.split("started address=").nth(1)?;
        Some(rest.split(' ').next()?.to_owned())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn content_recipients_and_secrets_are_in_no_log_metric_or_reason() {
    let world = World::new().await;
    let database = Proxy::before_url(&world.database.url).await;
    let nowhere = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let closed = nowhere.local_addr().expect("bound");
    drop(nowhere);
    let user = world.broker.prefix.replace('.', "");
    super::super::broker::add_user(&world, &user, "AMQPMARK").await;
    let channel = |name, address: SocketAddr| {
        let mut channel = Channel::new(name, AtMostOnce, Gives::LookUp).through(address);
        channel.more_of_provider = "auth = { bearer = \"BEARERMARK\" }\n".into();
        channel
    };
    let mut query = channel("query", closed);
    query.more_of_provider = "auth = { query = { token = \"TOKENMARK\" } }\n".into();
    let mut config = world
        .config()
        .channel(channel("parrot", parrot().await))
        .channel(channel("sandbox", world.sandbox.address))
        .channel(query)
        .database_through(database.address);
    config
        .database_url()
        .set_password(Some("DBPWMARK"))
        .expect("a host");
    config.broker_url().set_username(&user).expect("a host");
    config
        .broker_url()
        .set_password(Some("AMQPMARK"))
        .expect("a host");
    let publisher = world.publisher(&config).await;
    let (mut child, log) = talkative(&world, &config);
    let message = |key: &str| json!({"key": format!("{KEY} {key}\r\nX-Evil: 1"), "to": format!("+{NUMBER}"), "text": TEXT});
    for name in ["parrot", "sandbox", "query"] {
        publisher.json(name, &message("a")).await;
        let mut bad = message("b");
        for (field, value) in [
            ("to", json!([NUMBER])),
            ("subject", json!(TEXT)),
            ("send_at", json!(TEXT)),
        ] {
            bad[field] = value;
            publisher.json(name, &bad).await;
            bad[field] = json!(NUMBER);
        }
        let cut = message("c").to_string();
        publisher
            .raw(name, &cut.as_bytes()[..cut.len() - 3], None)
            .await;
        publisher
            .raw(name, format!("{{\"+{NUMBER}\":1}}").as_bytes(), None)
            .await;
    }
    let tried = |row: &super::super::harness::Row| row.last_text.is_some();
    world
        .row_when(
            "was refused",
            "parrot",
            &format!("{KEY} a\r\nX-Evil: 1"),
            |row| row.phase == Phase::Failed,
        )
        .await;
    world
        .row_when(
            "was tried",
            "query",
            &format!("{KEY} a\r\nX-Evil: 1"),
            tried,
        )
        .await;
    // A conflict, with both the standing and the arrived in hand; then no database.
    let mut conflict = message("a");
    conflict["text"] = json!(format!("{TEXT}, another"));
    publisher.json("parrot", &conflict).await;
    wait_until("the quarantine has all", async || {
        (world.quarantine().await.len() == 16).then_some(())
    })
    .await;
    database.flow(super::super::harness::Flow::Refuse);
    database.cut();
    publisher.json("sandbox", &message("d")).await;
    wait_until("it says that it cannot write", async || {
        let text = std::fs::read_to_string(&log).expect("a log");
        text.contains("not claimed yet").then_some(())
    })
    .await;
    database.flow(super::super::harness::Flow::Pass);
    let sent = |row: &super::super::harness::Row| row.phase == Phase::Sent;
    world
        .row_when("is sent", "sandbox", &format!("{KEY} d\r\nX-Evil: 1"), sent)
        .await;

    let metrics = format!("http://{}/metrics", address(&log).await);
    let mut told = vec![Http::new().get(&metrics).await.text];
    child.kill().await.expect("killed");
    let log = std::fs::read_to_string(&log).expect("a log");
    // Libraries print what they carry at these levels, if not in letters then in numbers.
    let fine = |line: &&str| {
        [" INFO ", "DEBUG ", "TRACE "]
            .iter()
            .any(|level| line.contains(level))
            && !line.contains(" nuncio::")
    };
    assert_eq!(log.lines().find(fine), None, "a library's own words");
    told.push(log);
    let kept: Vec<String> = sqlx::query_scalar(
        "select coalesce(last_text, '') from notification union all
         select actor || event || detail from history union all
         select reason || detail from quarantine union all
         select application_name from pg_stat_activity",
    )
    .fetch_all(&world.database.pool)
    .await
    .expect("the ledger can be read");
    assert!(
        kept.iter().any(|text| text.contains("is no good")),
        "{kept:#?}"
    );
    told.extend(kept);
    for text in &told {
        for mark in [&[NUMBER, TEXT, KEY][..], &SECRETS[..]].concat() {
            let line = text.lines().find(|line| line.contains(mark));
            assert_eq!(line, None, "{mark}");
        }
        assert!(!text.contains("panicked"), "{text}");
    }
    super::super::broker::delete_user(&user).await;
}
