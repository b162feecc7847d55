-- Fills the tables of postgraphile.sql from the lines of data.mjs.

insert into principal
  select line ->> 'id', split_part(line ->> 'id', ':', 2), line ->> 'displayName', (line ->> 'visibility')::visibility
  from hidden.line where line ->> 'type' in ('user', 'group');

insert into hidden.membership
  select member ->> 'principalId', line ->> 'id'
  from hidden.line, jsonb_array_elements(line -> 'members') member where line ->> 'type' = 'group';

insert into content
  select line ->> 'id', split_part(line ->> 'id', ':', 2), line ->> 'title', line ->> 'link', (line ->> 'visibility')::visibility,
    line ->> 'createdBy', (line ->> 'lastModified')::timestamptz
  from hidden.line where line ->> 'type' = 'content';

insert into hidden.member
  select c.id, member ->> 'principalId', (member ->> 'role')::role, c.last_modified
  from hidden.line join content c on c.id = line ->> 'id', jsonb_array_elements(line -> 'members') member;

drop table hidden.line;
vacuum analyze;
