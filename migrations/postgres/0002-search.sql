-- Parts of names and addresses are found by their trigrams. The extension is a trusted one: whoever may create in the database may create it.
create extension if not exists pg_trgm;

create index users_search on users
using gin (email_key gin_trgm_ops, first_name_folded gin_trgm_ops, last_name_folded gin_trgm_ops);

-- Whole names; whole addresses have their unique index.
create index users_by_first_name on users (first_name_folded);
create index users_by_last_name on users (last_name_folded);
