-- usable-from: 0012
-- The language in which somebody reads pages and mails. Null if it is not known.
alter table users add column language text;
-- That of the owner when a notice is queued: the address of a notice may not be that of an account any more.
alter table outbox add column language text;
