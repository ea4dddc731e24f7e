-- A new address of an account that its owner has not confirmed yet. A newer request replaces it.
create table email_changes (
  user_id bigint primary key references users (id) on delete cascade,
  email text not null,
  -- Named by the token in the mail.
  version bigint not null,
  -- The one of the account at the time of the request: a password change, another address or a ban ends the request.
  reset_version integer not null,
  requested_at bigint not null,
  -- Kept for a while, so that a link that is opened twice can say what has happened.
  confirmed_at bigint
);

create index email_changes_by_time on email_changes (requested_at);

-- The code knows the kinds of mails.
alter table outbox drop constraint outbox_kind_check;
-- Where the mail goes, as it was typed, if that was decided when the mail was queued.
alter table outbox add column address text;
-- What the mail names, one per line. Never a token.
alter table outbox add column detail text;
