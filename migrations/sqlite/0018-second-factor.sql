-- usable-from: 0012
-- Whether the account has codes from an app, and how many passkeys. Copies, so that a request reads them together with its caller.
alter table users add column totp integer not null default false check (totp in (false, true));
alter table users add column passkeys integer not null default 0;

-- How a session was opened: `password`, `passkey`, `email` or the name of a provider.
alter table sessions add column method text not null default 'password';
alter table sessions add column second_factor integer not null default false check (second_factor in (false, true));
-- When its owner last showed who they are. Null until they do it again after the session was opened.
alter table sessions add column confirmed_at integer;

-- The secret that an account shares with an app. It is encrypted under a key derived from SECRET_KEY.
create table totp_secrets (
  user_id integer primary key references users (id) on delete cascade,
  secret text not null,
  -- The fingerprint of the SECRET_KEY that encrypts it.
  sealed_with text not null,
  created_at integer not null,
  -- Null until a code of the app was right: until then nothing asks for codes.
  confirmed_at integer,
  -- The time step of the last accepted code. No code of it or of an earlier one is accepted again.
  last_step integer not null,
  -- For the hashes of the recovery codes.
  salt text not null
) strict;

create index totp_secrets_by_seal on totp_secrets (sealed_with);

create table recovery_codes (
  user_id integer not null references users (id) on delete cascade,
  code_hash text not null,
  primary key (user_id, code_hash)
) strict, without rowid;

create table passkeys (
  id text primary key,
  user_id integer not null references users (id) on delete cascade,
  -- As the authenticator names it, in base64url.
  credential_id text not null unique,
  public_key text not null,
  -- How often the authenticator has signed. Zero if it does not count.
  counter integer not null,
  transports text not null,
  name text not null,
  backed_up integer not null check (backed_up in (false, true)),
  created_at integer not null,
  last_used_at integer
) strict;

create index passkeys_by_user on passkeys (user_id, created_at);

-- Logins whose first step was right and whose second is missing. The id is a hash.
create table login_challenges (
  id text primary key,
  user_id integer not null references users (id) on delete cascade,
  method text not null,
  -- A challenge ends when the account has another one: after a new password, a reset or a ban.
  reset_version integer not null,
  wrong_codes integer not null default 0,
  expires_at integer not null
) strict, without rowid;

create index login_challenges_by_user on login_challenges (user_id);
create index login_challenges_by_expiry on login_challenges (expires_at);

-- Challenges that were used before they expired, so that none works twice. The id is a hash.
create table used_challenges (
  id text primary key,
  expires_at integer not null
) strict, without rowid;

create index used_challenges_by_expiry on used_challenges (expires_at);
