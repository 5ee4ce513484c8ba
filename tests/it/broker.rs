//! RabbitMQ as it is on a bad day.

use super::harness::World;

/// Runs rabbitmqctl on the world's virtual host.
pub async fn ctl(world: &World, arguments: &[&str]) -> String {
    let words =
        std::env::var("NUNCIO_RABBITMQCTL").expect("NUNCIO_RABBITMQCTL is set: run scripts/test");
    let mut words = words.split_whitespace();
    let vhost = world.broker.url.path().trim_start_matches('/').to_owned();
    let (command, rest) = arguments.split_first().expect("a command");
    let done = tokio::process::Command::new(words.next().expect("a program"))
        .args(words)
        .args(["-q", command, "-p", &vhost])
        .args(rest)
        .output()
        .await
        .expect("rabbitmqctl can be run");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}
