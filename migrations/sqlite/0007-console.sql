-- The lists of the console: each order, for everybody and for each status. The conditions are those of user-list.repository.ts.
create index users_by_creation on users (created_at, id);
create index users_by_login on users (coalesce(last_login_at, 0), id);

create index users_active_by_creation on users (created_at, id) where verified = true and banned = false;
create index users_active_by_login on users (coalesce(last_login_at, 0), id) where verified = true and banned = false;
create index users_active_by_email on users (email_key) where verified = true and banned = false;

create index users_unverified_by_creation on users (created_at, id) where verified = false;
create index users_unverified_by_login on users (coalesce(last_login_at, 0), id) where verified = false;
create index users_unverified_by_email on users (email_key) where verified = false;

create index users_banned_by_creation on users (created_at, id) where banned = true;
create index users_banned_by_login on users (coalesce(last_login_at, 0), id) where banned = true;
create index users_banned_by_email on users (email_key) where banned = true;
