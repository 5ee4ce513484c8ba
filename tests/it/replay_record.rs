//! A replay is on record before it is made, so that a resolver that dies in the midst of it leaves
//! the time from which the provider's log has to be believed.

use chrono::{DateTime, Utc};
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, World};

#[tokio::test]
async fn a_replay_is_on_record_while_it_is_under_way() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::ReplayAndLookUp));
    let reference = World::reference("sms", "order-1");
    world
        .sandbox
        .script([(reference, vec![Fault::Drop, Fault::Hang])])
        .await;
    let mut worker = world.start(&config).await;
    world.publisher(&config).await.send("sms", "order-1").await;

    // The first request got lost; the replay is accepted, and never answered.
    let arrived = world.sandbox.sent(reference, 1).await;
    let replayed_at = arrived.requests[1]["at"].as_str().expect("as documented");
    let replayed_at: DateTime<Utc> = replayed_at.parse().expect("as documented");
    worker.kill().await;

    let last_request_at: DateTime<Utc> =
        sqlx::query_scalar("select last_request_at from notification where id = $1")
            .bind(reference)
            .fetch_one(&world.database.pool)
            .await
            .expect("its row is there");
    assert!(
        last_request_at >= replayed_at,
        "replayed at {replayed_at}, and the ledger knows of no request after {last_request_at}"
    );
}
