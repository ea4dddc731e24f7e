-- usable-from: 0012
-- What became of each mail, for 30 days: its attempts with their errors, and the answer of the server. Never its content or a token.
create table mail_history (
  id bigint generated always as identity primary key,
  -- Its number in the outbox, which it leaves when it is delivered. 0 for a test mail, which is never queued.
  mail_id bigint not null,
  kind text not null,
  -- The address that it went to, in lower case.
  recipient text not null,
  requested_at bigint not null,
  -- The time of the last change.
  at bigint not null,
  attempts integer not null,
  -- JSON: each different error in a row, with its first and last time and how often it occurred.
  errors text not null,
  -- Null while it waits.
  outcome text,
  -- What the server answered.
  answer text
);

create index mail_history_by_recipient on mail_history (recipient, id);
create index mail_history_by_time on mail_history (at);
create index mail_history_open on mail_history (mail_id) where outcome is null;
-- The mails to an address that still wait. Without `address`, a mail goes to the account that it is about.
create index outbox_by_address on outbox (lower(coalesce(address, recipient)), id) where failed_at is null;

-- The list of all API keys in the console is searched by the beginning of the key or of its name. With many keys, these indexes are built
-- before the upgrade, while the service writes (docs/upgrading.md).
create index if not exists api_keys_by_prefix on api_keys (prefix collate "C");
create index if not exists api_keys_by_name on api_keys (lower(name) collate "C");
