-- What is searched gets a table of its own. A search for what many have visits the row of each of them, and here a row is a third as
-- wide: without the hash of a password and the address as typed. A login, which changes users, leaves this table and its index alone.
-- Others may read users meanwhile; the old indexes go last, because that keeps everybody out.
lock table users in share row exclusive mode;

create table users_search_copy (
  user_id bigint primary key,
  email_key text not null,
  first_name_folded text not null,
  last_name_folded text not null
);

insert into users_search_copy (user_id, email_key, first_name_folded, last_name_folded)
select id, email_key, first_name_folded, last_name_folded from users order by id;

create index users_search_parts on users_search_copy
using gin (email_key gin_trgm_ops, first_name_folded gin_trgm_ops, last_name_folded gin_trgm_ops);

-- Whole names; whole addresses have the unique index of users.
create index users_search_by_first_name on users_search_copy (first_name_folded);
create index users_search_by_last_name on users_search_copy (last_name_folded);

-- The path is the one of this migration, so that data can be restored by a program that has none.
create function keep_users_search() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'DELETE' then
    delete from users_search where user_id = old.id;
  else
    insert into users_search (user_id, email_key, first_name_folded, last_name_folded)
    values (new.id, new.email_key, new.first_name_folded, new.last_name_folded)
    on conflict (user_id) do update set email_key = excluded.email_key,
      first_name_folded = excluded.first_name_folded, last_name_folded = excluded.last_name_folded;
  end if;
  return null;
end $$;

create trigger users_search_insert after insert on users for each row execute function keep_users_search();
create trigger users_search_delete after delete on users for each row execute function keep_users_search();
create trigger users_search_update after update of email_key, first_name_folded, last_name_folded on users for each row
when (old.email_key <> new.email_key or old.first_name_folded <> new.first_name_folded or old.last_name_folded <> new.last_name_folded)
execute function keep_users_search();

-- The planner chooses between the index and a walk through all rows by what it knows of them.
analyze users_search_copy;

drop index users_search;
drop index users_by_first_name;
drop index users_by_last_name;
alter table users_search_copy rename to users_search;
