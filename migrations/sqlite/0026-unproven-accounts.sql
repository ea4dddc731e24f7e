-- usable-from: 0012
-- Accounts that somebody else than the owner of the address may have registered: with a provider that had not verified the address. Until the
-- owner shows up, nothing that is connected to one of them is known to be theirs.
create table unproven_accounts (
  user_id integer primary key references users (id) on delete cascade
) strict;
