-- usable-from: 0012
-- The accounts of people at other providers that open an account here. Issuer and subject name a person, never the address.
create table identities (
  issuer text not null,
  subject text not null,
  user_id integer not null references users (id) on delete cascade,
  -- The name of the provider in the settings.
  provider text not null,
  -- The address that the provider named when it was connected. Nothing depends on it.
  email text not null,
  connected_at integer not null,
  primary key (issuer, subject)
) strict, without rowid;

create unique index identities_by_user on identities (user_id, provider);
