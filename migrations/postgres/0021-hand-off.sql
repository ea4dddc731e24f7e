-- usable-from: 0012
-- Codes with which the pages hand a person who has signed in to the product. The id is a hash.
create table hand_offs (
  id text primary key,
  user_id bigint not null references users (id) on delete cascade,
  -- The session of the pages, without which the code is of no use. Once the code was used, the session that it has opened.
  session_id text not null references sessions (id) on delete cascade,
  -- What the verifier of the product has to match (RFC 7636).
  code_challenge text not null,
  is_used boolean not null default false,
  -- A code that was used is known for as long as its session: a second use ends the session.
  expires_at bigint not null
);

create index hand_offs_by_user on hand_offs (user_id);
create index hand_offs_by_session on hand_offs (session_id);
create index hand_offs_by_expiry on hand_offs (expires_at);
