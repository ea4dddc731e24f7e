-- The audit trail. An event is written in the transaction of the change that it reports.
create table events (
  id integer primary key autoincrement,
  at integer not null,
  kind text not null,
  -- User ids. They are no references: an event stays when its user is deleted.
  actor integer,
  via text not null,
  target integer,
  key_id text,
  request_id text,
  -- The address and the details (a JSON object) can be erased, together with the salt of their digest.
  ip text,
  detail text,
  salt text,
  -- An HMAC of the process that wrote the event, and the key that it used. An event without a valid one is never sealed.
  mac text not null,
  mac_key text not null
) strict;

create index events_by_time on events (at);
create index events_by_kind on events (kind, at);
create index events_by_actor on events (actor, at) where actor is not null;
create index events_by_target on events (target, at) where target is not null;

-- The links of the hash chain. A link is never changed. Nothing references an event, so that a missing one can be found.
create table event_seals (
  position integer primary key,
  event_id integer not null unique,
  sealed_at integer not null,
  -- The salted digest of address and details, which stays when they are erased.
  digest text not null,
  -- SHA-256 of the previous hash and this event, and its HMAC.
  hash text not null,
  mac text not null,
  mac_key text not null
) strict;

-- Where the chain begins (`anchor`: everything up to here was removed after its retention) and where it ends (`head`).
create table audit_marks (
  name text primary key check (name in ('anchor', 'head')),
  position integer not null,
  hash text not null,
  marked_at integer not null,
  mac text not null,
  mac_key text not null
) strict, without rowid;
