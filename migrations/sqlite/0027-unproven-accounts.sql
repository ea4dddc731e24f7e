-- usable-from: 0012
-- Accounts whose identity was disconnected while it was not proven. Until the owner of the address shows up, nothing that is connected to one
-- of them is proven.
create table unproven_accounts (
  user_id integer primary key references users (id) on delete cascade
) strict;
