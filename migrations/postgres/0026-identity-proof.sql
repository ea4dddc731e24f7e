-- usable-from: 0012
-- Whether its owner was known to be the owner of the address when it was connected: the provider had verified the address, or somebody who had
-- verified it here was signed in. Nobody knows it of those that were connected before.
alter table identities add column proven boolean not null default false;
