-- usable-from: 0012
-- The latest sign-in mail of each address, and how often its code was tried. A guess leaves a row whether or not the address has an
-- account, so that every guess costs the same. There is no code here: it derives from the version and SECRET_KEY.
create table email_sign_ins (
  -- The address, in lower case.
  recipient text primary key,
  -- Named by the link. Zero if no mail was sent.
  version bigint not null,
  -- The one of the account when the mail was sent: a new password, another address or a ban ends the link and the code.
  reset_version bigint not null,
  -- How many wrong codes are left. Zero once the link or the code was used.
  tries_left integer not null,
  expires_at bigint not null
);

create index email_sign_ins_by_expiry on email_sign_ins (expires_at);

-- Accounts that do not exist yet: each is created when the invited person sets a password.
create table invitations (
  id bigint generated always as identity primary key,
  email text not null,
  email_key text not null unique,
  first_name text not null,
  last_name text not null,
  role text not null,
  created_at bigint not null,
  expires_at bigint not null,
  -- Named by the link. A new link has another one.
  version bigint not null
);

create index invitations_by_creation on invitations (created_at, id);
create index invitations_by_expiry on invitations (expires_at);
