-- Where a session was opened, for its owner to recognise it. Neither value decides anything.
alter table sessions add column ip text;
alter table sessions add column user_agent text;
-- At most five minutes behind. Null until the session is used after its first five minutes.
alter table sessions add column last_seen_at integer;

-- What a key may call: everything, reading routes, or only routes that say who is calling.
alter table api_keys add column access text not null default 'full' check (access in ('full', 'read', 'identify'));
alter table api_keys add column expires_at integer;
-- The first nine characters of the key. Null for keys that were created before this column.
alter table api_keys add column prefix text;

-- Former secrets of rotated keys, which work until their overlap ends.
create table retiring_secrets (
  key_hash text primary key,
  key_id text not null references api_keys (id) on delete cascade,
  retired_at integer not null,
  expires_at integer not null
) strict, without rowid;

create index retiring_secrets_by_key on retiring_secrets (key_id);
create index retiring_secrets_by_expiry on retiring_secrets (expires_at);

-- Keys that sign tokens for other services. The private part is encrypted under a key derived from SECRET_KEY.
create table signing_keys (
  id text primary key,
  public_jwk text not null,
  private_key text not null,
  created_at integer not null,
  -- Published from the beginning, and used for signing from here on.
  signs_from integer not null,
  -- Published until here: null while it may still sign.
  published_until integer
) strict, without rowid;

-- Which secrets have signed tokens, by their fingerprint, and when last. Says when a former SECRET_KEY is no longer needed.
create table secret_uses (
  fingerprint text primary key,
  first_used_at integer not null,
  last_used_at integer not null
) strict, without rowid;

-- Which secrets each running process has. A process that is killed leaves rows behind, which end with their age.
create table secret_holders (
  process_id text not null,
  fingerprint text not null,
  -- The current secret of the process; the others are fallbacks.
  signs integer not null check (signs in (0, 1)),
  seen_at integer not null,
  primary key (process_id, fingerprint)
) strict, without rowid;
