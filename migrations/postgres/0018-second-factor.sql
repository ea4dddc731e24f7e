-- usable-from: 0012
-- Whether the account has codes from an app, and how many passkeys. Copies, so that a request reads them together with its caller.
alter table users add column totp boolean not null default false;
alter table users add column passkeys integer not null default 0;

-- How a session was opened: `password`, `passkey`, `email` or the name of a provider.
alter table sessions add column method text not null default 'password';
alter table sessions add column second_factor boolean not null default false;
-- When its owner last showed who they are. Null until they do it again after the session was opened.
alter table sessions add column confirmed_at bigint;

-- The secret that an account shares with an app. It is encrypted under a key derived from SECRET_KEY.
create table totp_secrets (
  user_id bigint primary key references users (id) on delete cascade,
  secret text not null,
  -- The fingerprint of the SECRET_KEY that encrypts it.
  sealed_with text not null,
  created_at bigint not null,
  -- Null until a code of the app was right: until then nothing asks for codes.
  confirmed_at bigint,
  -- The time step of the last accepted code. No code of it or of an earlier one is accepted again.
  last_step bigint not null,
  -- For the hashes of the recovery codes.
  salt text not null
);

create index totp_secrets_by_seal on totp_secrets (sealed_with);

create table recovery_codes (
  user_id bigint not null references users (id) on delete cascade,
  code_hash text not null,
  primary key (user_id, code_hash)
);

create table passkeys (
  id text primary key,
  user_id bigint not null references users (id) on delete cascade,
  -- As the authenticator names it, in base64url.
  credential_id text not null unique,
  public_key text not null,
  -- How often the authenticator has signed. Zero if it does not count.
  counter bigint not null,
  transports text not null,
  name text not null,
  backed_up boolean not null,
  created_at bigint not null,
  last_used_at bigint
);

create index passkeys_by_user on passkeys (user_id, created_at);

-- Logins whose first step was right and whose second is missing. The id is a hash.
create table login_challenges (
  id text primary key,
  user_id bigint not null references users (id) on delete cascade,
  method text not null,
  -- A challenge ends when the account has another one: after a new password, a reset or a ban.
  reset_version bigint not null,
  wrong_codes integer not null default 0,
  expires_at bigint not null
);

create index login_challenges_by_user on login_challenges (user_id);
create index login_challenges_by_expiry on login_challenges (expires_at);

-- Challenges that were used before they expired, so that none works twice. The id is a hash.
create table used_challenges (
  id text primary key,
  expires_at bigint not null
);

create index used_challenges_by_expiry on used_challenges (expires_at);
