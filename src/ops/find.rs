//! From what a person types to the rows that it may mean.

use uuid::Uuid;

use crate::domain::identity::notification_id;
use crate::ledger::row::Row;
use crate::ledger::story::Filter;
use crate::ledger::{Ledger, LedgerError};

/// Rows with this key on one of the channels, or with this id (the send key of generation 1). A
/// row that goes by its id comes first.
///
/// Each reading is one id, so this is a look-up by primary key whatever the size of the ledger.
pub(super) async fn find(
    ledger: &Ledger,
    key: &str,
    channels: &[&str],
) -> Result<Vec<Row>, LedgerError> {
    let typed = Uuid::try_parse(key).ok();
    let ids: Vec<Uuid> = typed
        .into_iter()
        .chain(channels.iter().map(|channel| notification_id(channel, key)))
        .collect();
    let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let filter = Filter {
        ids: Some(ids),
        ..Filter::default()
    };
    let mut rows = ledger.rows(&filter, limit).await?;
    rows.sort_by_key(|row| Some(row.id) != typed);
    Ok(rows)
}
