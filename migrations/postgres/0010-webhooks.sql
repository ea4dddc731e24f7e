-- Events that have to be sent to WEBHOOK_URL. A row is written in the transaction of the change and deleted when the receiver accepts it.
create table webhook_deliveries (
  -- The order of creation, which is the order of delivery for one user.
  id bigint generated always as identity primary key,
  -- The `webhook-id` header of every attempt.
  message_id text not null unique,
  type text not null,
  -- No reference: the deletion of a user is an event too.
  user_id bigint not null,
  key_id text,
  session_id text,
  occurred_at bigint not null,
  -- The event, or the latest manual retry. A webhook is tried for three days from here.
  requested_at bigint not null,
  attempts integer not null default 0,
  -- Not before this moment: the next attempt, or the end of the lease of the process that sends it now.
  due_at bigint not null,
  -- Names the claim that the row is being sent under.
  lease text,
  last_error text,
  failed_at bigint
);

create index webhook_deliveries_by_due on webhook_deliveries (due_at, id) where failed_at is null;
create index webhook_deliveries_by_user on webhook_deliveries (user_id, id) where failed_at is null;

-- Receivers that answered 410: nothing is sent to them. A digest of the URL, which may contain a token.
create table webhook_stops (
  endpoint text primary key,
  stopped_at bigint not null
);
