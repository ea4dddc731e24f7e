-- The audit trail. An event is written in the transaction of the change that it reports.
create table events (
  id bigint generated always as identity primary key,
  at bigint not null,
  kind text not null,
  -- User ids. They are no references: an event stays when its user is deleted.
  actor bigint,
  via text not null,
  target bigint,
  key_id text,
  request_id text,
  -- The address and the details (a JSON object) can be erased, together with the salt of their digest.
  ip text,
  detail text,
  salt text,
  -- An HMAC of the process that wrote the event, and the key that it used. An event without a valid one is never sealed.
  mac text not null,
  mac_key text not null
);

create index events_by_time on events (at, id);
create index events_by_kind on events (kind, at, id);
create index events_by_actor on events (actor, at, id) where actor is not null;
create index events_by_target on events (target, at, id) where target is not null;

-- The links of the hash chain. A link is never changed. Nothing references an event, so that a missing one can be found.
create table event_seals (
  position bigint primary key,
  event_id bigint not null unique,
  sealed_at bigint not null,
  -- The salted digest of address and details, which stays when they are erased.
  digest text not null,
  -- SHA-256 of the previous hash and this event, and its HMAC.
  hash text not null,
  mac text not null,
  mac_key text not null
);

-- Where the chain begins (`anchor`: everything up to here was removed after its retention) and where it ends (`head`).
create table audit_marks (
  name text primary key check (name in ('anchor', 'head')),
  position bigint not null,
  hash text not null,
  marked_at bigint not null,
  mac text not null,
  mac_key text not null
);
