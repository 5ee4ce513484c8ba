-- The ledger: one row a notification, one row a thing that was tried or decided about it, and
-- the messages that could not become a row.

create type phase as enum (
    'queued', 'sending', 'parked',
    'sent', 'failed', 'expired', 'superseded', 'suppressed', 'cancelled', 'unconfirmed'
);

create table notification (
    -- Derived from channel and key (see domain::identity), so this one index is both the
    -- uniqueness that makes a redelivery harmless and the look-up by our reference.
    id                  uuid primary key,
    channel             text not null,
    key                 text collate "C" not null,
    recipient           text not null,
    -- JSON as bytes: jsonb cost 15 to 20 % of Postgres's time and is never queried.
    content             bytea not null,
    stream              text,
    seq                 bigint,
    send_at             timestamptz,
    -- As the producer gave it, and so in the request; and what is checked: that, or else the
    -- channel's default age from here.
    given_expires_at    timestamptz,
    expires_at          timestamptz,
    accepted_at         timestamptz not null default now(),

    phase               phase not null,
    -- The fence: every write that changes the phase names the attempt that it belongs to.
    attempt             integer not null,
    -- Requests made, or perhaps made.
    sends               integer not null,
    -- Which send key is in use; 1 unless a recorded decision made another.
    generation          integer not null default 1,
    -- The provider of the last attempt, and what its request looked like under this send key.
    provider            text not null,
    request_hash        bytea,
    -- The claim that holds, or last held, the row.
    owner               uuid,
    -- When somebody has to look at it: due, for a queued row; the end of the lease, for a sending one.
    due_at              timestamptz,
    -- Bounds, by this clock, of the time in which requests under this send key can have been made.
    first_request_at    timestamptz,
    last_request_at     timestamptz,

    doubt_since         timestamptz,
    doubt_cause         text,
    -- The send key (by its generation) under which the doubt began.
    doubt_generation    integer,
    -- Resolver passes that taught nothing, and settled look-ups by recipient that found nothing.
    checks              integer not null default 0,
    empty_reads         integer not null default 0,
    -- Times that it was sent again while in doubt.
    possible_duplicates integer not null default 0,

    provider_id         text,
    settled_by          text,
    settled_at          timestamptz,
    -- The provider's last words, cleaned.
    last_text           text,

    constraint key_has_a_size check (octet_length(key) between 1 and 1024),
    constraint seq_belongs_to_a_stream check ((seq is null) = (stream is null)),
    constraint due_exactly_while_open check ((due_at is not null) = (phase in ('queued', 'sending'))),
    constraint settled_exactly_at_rest check (
        (settled_at is not null) = (phase not in ('queued', 'sending', 'parked'))),
    constraint sent_exactly_by_proof check ((settled_by is not null) = (phase = 'sent')),
    constraint owned_exactly_once_attempted check ((owner is not null) = (attempt > 0)),
    constraint doubt_is_whole check (num_nulls(doubt_since, doubt_cause, doubt_generation) in (0, 3)),
    constraint parked_and_unconfirmed_are_in_doubt check (
        phase not in ('parked', 'unconfirmed') or doubt_since is not null),
    constraint certain_phases_are_not_in_doubt check (
        phase not in ('sent', 'failed', 'expired', 'superseded', 'suppressed', 'cancelled')
        or doubt_since is null),
    constraint claimed_request_is_known check (phase <> 'sending' or request_hash is not null),
    constraint counts_do_not_go_below_zero check (
        least(attempt, sends, checks, empty_reads, possible_duplicates) >= 0 and generation >= 1)
)
-- Most rows are updated once (sending to sent): room for that on the same page.
with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);

-- Open rows only: the queue of due rows and the stuck list in one small index. Its predicate is on
-- due_at, not on the phase: a guard "phase = 'sending'" in the settling UPDATE would otherwise let
-- the planner join through this index, two to four times slower in small batches.
create index notification_open on notification (due_at) where due_at is not null;
create index notification_parked on notification (doubt_since) where phase = 'parked';
-- For retention and for looking at a day: a few pages for millions of rows.
create index notification_accepted on notification using brin (accepted_at);
-- "Is this record of the provider's log already another notification's?"
create index notification_provider_id on notification (provider_id) where provider_id is not null;

-- What was tried and decided, in words. A notification that is accepted at the first try has none:
-- its row says it all.
create table history (
    id              bigint generated always as identity primary key,
    notification_id uuid not null references notification (id) on delete cascade,
    at              timestamptz not null default clock_timestamp(),
    attempt         integer not null,
    actor           text not null,
    event           text not null,
    detail          text not null
);
create index history_of_notification on history (notification_id, id);

-- Messages that could not become a row, with their bytes and the reason. The same message on the same
-- queue for the same reason is one row, so a redelivery does not fill the table.
create table quarantine (
    id           bigint generated always as identity primary key,
    queue        text not null,
    reason       text not null,
    detail       text not null,
    -- Empty for a message over the size limit, of which only size and hash are kept, and once it is
    -- released or dropped.
    body         bytea not null,
    body_size    bigint not null,
    body_sha256  bytea not null,
    -- What the broker said beside the body, as far as it can make a key.
    message_id   text,
    content_type text,
    event_source text,
    event_id     text,
    -- SHA-256 over the body's hash and these four: two notifications may have equal bodies, and
    -- their keys in the message id.
    digest       bytea not null,
    first_at     timestamptz not null default now(),
    last_at      timestamptz not null default now(),
    seen         bigint not null default 1,
    -- A message that comes again is held again, whatever was decided before.
    state        text not null default 'held',

    constraint seen_at_least_once check (seen >= 1),
    constraint hashes_are_sha256 check (octet_length(body_sha256) = 32 and octet_length(digest) = 32),
    constraint event_is_whole check ((event_source is null) = (event_id is null)),
    constraint state_is_known check (state in ('held', 'released', 'dropped')),
    constraint only_held_ones_keep_bytes check (state = 'held' or body = ''),
    unique (queue, digest, reason)
);

-- What people did with it.
create table quarantine_history (
    id            bigint generated always as identity primary key,
    quarantine_id bigint not null references quarantine (id) on delete cascade,
    at            timestamptz not null default clock_timestamp(),
    actor         text not null,
    event         text not null,
    detail        text not null
);
create index history_of_quarantined on quarantine_history (quarantine_id, id);
