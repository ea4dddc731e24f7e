-- usable-from: 0012
-- A search for an address, or for a part of one with the @, finds the local parts that end like its own. The index of trigrams took
-- seconds among ten million users for an address whose trigrams many others have.
create index users_search_by_local_part on users_search (reverse(split_part(email_key, '@', 1)) text_pattern_ops);

-- PostgreSQL has no statistics about an expression until the table is analysed, and would not choose the index.
analyze users_search;
