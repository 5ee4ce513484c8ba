//! Bodies far above what is read.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use sha2::{Digest, Sha256};

use super::super::harness::{Channel, Gives, World, wait_until};

const MIB: usize = 1 << 20;
/// Bodies on their way to a worker at once.
const PREFETCH: u16 = 2;
const LARGEST: usize = 8 * MIB;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_megabytes_are_kept_by_size_and_hash_alone_and_the_good_behind_them_are_sent() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    let mut config = world.config().channel(channel);
    config.prefetch = PREFETCH;
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    publisher.send("sms", "before").await;
    world.rest(1).await;
    let before = worker.peak_kib();

    // The first is a message that could be sent, were it not so large.
    let mut padded = super::body("sms", "padded").to_string().into_bytes();
    padded.resize(MIB + 1, b' ');
    let mut large = vec![padded];
    for letter in b'a'..=b'l' {
        large.push(vec![letter; LARGEST]);
    }
    for (n, body) in large.iter().enumerate() {
        publisher.raw("sms", body, None).await;
        publisher.send("sms", &format!("behind-{n}")).await;
    }
    let kept = wait_until("all are quarantined", async || {
        let kept = world.quarantine().await;
        (kept.len() == large.len()).then_some(kept)
    })
    .await;
    for body in &large {
        let digest = Sha256::digest(body).to_vec();
        let found = kept.iter().find(|kept| kept.body_sha256 == digest);
        let found = found.expect("kept by its hash");
        assert_eq!((&*found.reason, found.seen), ("too_large", 1));
        assert_eq!(found.body_size, body.len() as i64);
        assert!(found.body.is_empty(), "its bytes are kept");
    }
    let rows = world.rest(1 + large.len()).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    // The AMQP library has a body twice while it puts it together.
    let limit = (2 * usize::from(PREFETCH) + 1) * LARGEST / 1024;
    let grown = worker.peak_kib() - before;
    assert!(grown < limit as u64, "{grown} KiB more");
    worker.stop().await;
    world.audit(&config).await;
}
