-- Set while the password hash is one that another system has made: its algorithm and its cost, such as bcrypt/1024. A login costs as much
-- as the dearest of each algorithm, so that its time does not tell whose hash was compared.
alter table users add column foreign_kind text;

create index users_by_foreign_kind on users (foreign_kind) where foreign_kind is not null;
