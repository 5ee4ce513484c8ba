//! The sizes of a dedup memory.

use super::{
    super::{
        figures::{bytes, grouped},
        memory::MemoryPlan,
        span::compact,
    },
    table, wrap,
};

pub(super) fn memory(plan: &MemoryPlan) -> String {
    let inputs = &plan.inputs;
    let rows = plan.windows.iter().map(|row| {
        let catches = if row.catches.is_empty() {
            "none".to_owned()
        } else {
            row.catches.join(", ")
        };
        [
            compact(row.window),
            grouped(&row.keys.to_string()),
            bytes(row.bytes),
            catches,
        ]
    });
    let ages: Vec<_> = inputs
        .ages
        .iter()
        .map(|way| format!("{} {}", way.name, compact(way.age)))
        .collect();
    let setting = format!(
        "Dedup memory at {} messages/s, {} B an entry, {} copies; a message can come again after: {}.",
        grouped(&inputs.rate.to_string()),
        inputs.entry_bytes,
        inputs.copies,
        ages.join(", ")
    );
    let sequence = format!(
        "A table of the last sequence number per producer ({} producers × {} partitions × {} B) is \
         {} rows, {}, whatever the window.",
        inputs.producers,
        inputs.partitions,
        inputs.sequence_row_bytes,
        grouped(&plan.sequence_rows.to_string()),
        bytes(plan.sequence_bytes)
    );
    format!(
        "{}\n{}\n{}",
        wrap("", &setting),
        table(["window", "keys", "size", "catches"], rows),
        wrap("", &sequence)
    )
}
