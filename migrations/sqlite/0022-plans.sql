-- usable-from: 0012
-- The plan of an account, and the limit of a key. Null for the first plan of the settings, and for a key without a limit of its own.
alter table users add column plan text;
alter table api_keys add column call_limit text;

-- What all processes together have taken from each limit, in the window that ends at `ends_at`. A process takes a share before it lets
-- requests pass, and gives back what it does not use.
create table limit_windows (
  subject text not null,
  period_ms integer not null,
  ends_at integer not null,
  used integer not null,
  primary key (subject, period_ms)
) strict, without rowid;

create index limit_windows_by_end on limit_windows (ends_at);

-- The use of each key on each day (days since 1970, UTC). The day comes first: writes touch the rows of today alone, and old days are deleted
-- without another index. Nothing references it, so that the use of a key outlives the key.
create table key_usage (
  day integer not null,
  user_id integer not null,
  key_seq integer not null,
  allowed integer not null,
  limited integer not null,
  primary key (day, user_id, key_seq)
) strict, without rowid;
