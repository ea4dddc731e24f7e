-- autoincrement: the id of a deleted row is never given out again.
create table users (
  id integer primary key autoincrement,
  email text not null,
  -- The address in lower case: what it is unique by and looked up by.
  email_key text not null unique,
  password_hash text not null,
  first_name text not null,
  last_name text not null,
  -- The names as search sees them: in lower case. The address has email_key.
  first_name_folded text not null,
  last_name_folded text not null,
  role text not null check (role in ('user', 'admin')),
  banned integer not null default false check (banned in (false, true)),
  verified integer not null default false check (verified in (false, true)),
  -- A verification token names the version of the address that it was mailed to.
  email_version integer not null default 1,
  -- A reset token names this version; a password change, an address change and a ban raise it.
  reset_version integer not null default 1,
  created_at integer not null,
  last_login_at integer
) strict;

create index users_admins on users (id) where role = 'admin';

create table sessions (
  id text primary key,
  user_id integer not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;

create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

create table api_keys (
  -- The order of creation.
  seq integer primary key autoincrement,
  id text not null unique,
  user_id integer not null references users (id) on delete cascade,
  name text not null,
  -- SHA-256 of the key, in hexadecimal; the key itself is not kept.
  key_hash text not null unique,
  -- A JSON list of strings.
  scopes text not null,
  is_active integer not null default true check (is_active in (false, true)),
  created_at integer not null,
  last_used_at integer
) strict;

create index api_keys_by_user on api_keys (user_id, seq);

-- Mail that has to be sent. A row holds no token: that is signed at the moment of sending.
create table outbox (
  id integer primary key autoincrement,
  kind text not null check (kind in ('verify', 'reset')),
  -- The address in lower case. Whether an account belongs to it is looked up at the moment of sending.
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
  unique (kind, recipient)
) strict;

create index outbox_by_due on outbox (due_at) where failed_at is null;
