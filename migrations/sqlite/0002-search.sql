-- Parts of names and addresses are found by their trigrams. What is indexed is folded already, so that the tokenizer folds nothing.
create virtual table users_search using fts5 (
  email_key, first_name_folded, last_name_folded,
  content = 'users', content_rowid = 'id', columnsize = 0, tokenize = 'trigram case_sensitive 1'
);

create trigger users_search_insert after insert on users begin
  insert into users_search (rowid, email_key, first_name_folded, last_name_folded)
  values (new.id, new.email_key, new.first_name_folded, new.last_name_folded);
end;

create trigger users_search_delete after delete on users begin
  insert into users_search (users_search, rowid, email_key, first_name_folded, last_name_folded)
  values ('delete', old.id, old.email_key, old.first_name_folded, old.last_name_folded);
end;

create trigger users_search_update after update of email_key, first_name_folded, last_name_folded on users
when old.email_key <> new.email_key or old.first_name_folded <> new.first_name_folded or old.last_name_folded <> new.last_name_folded
begin
  insert into users_search (users_search, rowid, email_key, first_name_folded, last_name_folded)
  values ('delete', old.id, old.email_key, old.first_name_folded, old.last_name_folded);
  insert into users_search (rowid, email_key, first_name_folded, last_name_folded)
  values (new.id, new.email_key, new.first_name_folded, new.last_name_folded);
end;

-- Whole names; whole addresses have their unique index.
create index users_by_first_name on users (first_name_folded);
create index users_by_last_name on users (last_name_folded);
