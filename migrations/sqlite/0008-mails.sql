-- A new address of an account that its owner has not confirmed yet. A newer request replaces it.
create table email_changes (
  user_id integer primary key references users (id) on delete cascade,
  email text not null,
  -- Named by the token in the mail.
  version integer not null,
  -- The one of the account at the time of the request: a password change, another address or a ban ends the request.
  reset_version integer not null,
  requested_at integer not null,
  -- Kept for a while, so that a link that is opened twice can say what has happened.
  confirmed_at integer
) strict;

create index email_changes_by_time on email_changes (requested_at);

-- The outbox without a list of kinds, which SQLite cannot change in place, and with what a mail says about a moment in the past.
create table new_outbox (
  id integer primary key autoincrement,
  kind text not null,
  -- The address of the account, in lower case. Whether an account belongs to it is looked up at the moment of sending, unless `address` is set.
  recipient text not null,
  -- Raised by each further request for the same mail, so that one made during the sending is not lost.
  revision integer not null default 1,
  -- The latest request. A mail is tried for a day from here.
  requested_at integer not null,
  attempts integer not null default 0,
  -- Not before this moment: the next attempt, or the end of the lease of the process that sends it now.
  due_at integer not null,
  -- Names the claim that the row is being sent under.
  lease text,
  last_error text,
  failed_at integer,
  -- Where the mail goes, as it was typed, if that was decided when the mail was queued.
  address text,
  -- What the mail names, one per line. Never a token.
  detail text,
  unique (kind, recipient)
) strict;

insert into new_outbox (id, kind, recipient, revision, requested_at, attempts, due_at, lease, last_error, failed_at)
select id, kind, recipient, revision, requested_at, attempts, due_at, lease, last_error, failed_at from outbox;

-- The id of a mail that was sent is never given out again.
delete from sqlite_sequence where name = 'new_outbox';
insert into sqlite_sequence (name, seq) select 'new_outbox', seq from sqlite_sequence where name = 'outbox';
drop table outbox;
alter table new_outbox rename to outbox;

create index outbox_by_due on outbox (due_at) where failed_at is null;
