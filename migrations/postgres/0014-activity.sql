-- usable-from: 0012
-- What all processes did, one row for each minute (since 1970) of the last day. Each process adds its counts.
create table activity (
  minute bigint primary key,
  requests bigint not null,
  refused bigint not null,
  failed bigint not null,
  duration_us bigint not null,
  slowest_us bigint not null,
  logins bigint not null,
  failed_logins bigint not null,
  longest_queue bigint not null
);
