-- usable-from: 0012
-- What a product keeps about an account: `profile`, which its owner writes, and `app`, which only admins write. JSON objects, in a table
-- of their own, so that reading a caller does not read them.
create table user_data (
  user_id integer primary key references users (id) on delete cascade,
  profile text not null,
  app text not null
) strict;
