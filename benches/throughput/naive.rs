//! The naive way, as most would write it first: a task a message, a row before and an update after
//! the request, each a statement of its own through a pool, then an ack.

use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::BasicAckOptions;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::args::Line;
use crate::broker;
use crate::floor::{PREFETCH, Provider};
use crate::message::{CHANNEL, Message};

const POOL: u32 = 16;

const TABLE: &str = "
    create table if not exists naive (
        channel     text not null,
        key         text not null,
        content     jsonb not null,
        state       text not null,
        provider_id text,
        created_at  timestamptz not null default now(),
        updated_at  timestamptz not null default now(),
        primary key (channel, key)
    );
    create index if not exists naive_open on naive (updated_at) where state = 'sending'";

pub(crate) async fn run(line: Line) -> anyhow::Result<()> {
    let pool = PgPoolOptions::new()
        .max_connections(POOL)
        .connect(&line.database)
        .await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    let provider = Provider::new(&line.provider)?;
    let (_channel, mut deliveries) = broker::consume(&line.amqp, &line.queue, PREFETCH).await?;
    // Requests under way are bounded as in the others, or their connections would be a handicap.
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(line.in_flight));
    while let Some(delivery) = deliveries.next().await {
        let delivery = delivery?;
        let slot = slots.clone().acquire_owned().await?;
        let (pool, provider) = (pool.clone(), provider.clone());
        tokio::spawn(async move {
            if let Err(error) = one(&pool, &provider, &delivery).await {
                eprintln!("naive: {error:#}");
            }
            drop(slot);
        });
    }
    Ok(())
}

async fn one(pool: &PgPool, provider: &Provider, delivery: &Delivery) -> anyhow::Result<()> {
    let message: Message<'_> = serde_json::from_slice(&delivery.data)?;
    let inserted = sqlx::query(
        "insert into naive (channel, key, content, state) values ($1, $2, $3::jsonb, 'sending')
         on conflict do nothing",
    )
    .bind(CHANNEL)
    .bind(message.key)
    .bind(std::str::from_utf8(&delivery.data)?)
    .execute(pool)
    .await?;
    if inserted.rows_affected() == 1 {
        let id = provider.send(&delivery.data).await?;
        sqlx::query(
            "update naive set state = 'sent', provider_id = $3, updated_at = now()
             where channel = $1 and key = $2",
        )
        .bind(CHANNEL)
        .bind(message.key)
        .bind(id)
        .execute(pool)
        .await?;
    }
    delivery.acker.ack(BasicAckOptions::default()).await?;
    Ok(())
}
