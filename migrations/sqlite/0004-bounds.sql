-- Identifies this database. `latchkey doctor` compares it with the one that the service reports, to tell two services apart.
create table instance (id text not null) strict;
insert into instance (id) values (lower(hex(randomblob(16))));

-- The sessions of a user by age: a user has a limited number of them, and the oldest ends first.
create index sessions_by_user_and_age on sessions (user_id, created_at);
drop index sessions_by_user;
