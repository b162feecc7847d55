-- The libraries of the bench in PostgreSQL: the tables, what docs/visibility.md says of them as
-- policies, and the indexes for it. PostGraphile serves the schema public.

create role viewer login;
create schema hidden; -- PostGraphile does not serve it
grant usage on schema public, hidden to viewer;

create type visibility as enum ('PUBLIC', 'LOGGEDIN', 'PRIVATE');
create type role as enum ('VIEWER', 'EDITOR', 'MANAGER');

create table principal (
  id text primary key,
  tenant text not null,
  display_name text not null,
  visibility visibility not null
);

create table content (
  id text primary key,
  tenant text not null,
  title text not null,
  link text,
  visibility visibility not null,
  created_by text not null references principal,
  last_modified timestamptz not null
);

-- The direct members of groups.
create table hidden.membership (
  principal_id text not null references principal,
  group_id text not null references principal,
  primary key (principal_id, group_id)
);
create index on hidden.membership (group_id);

-- The direct members of items. A library is the rows of one principal. The time is here too, so that a
-- page is a range of one index, at any depth; an update writes it into each of these rows.
create table hidden.member (
  content_id text not null references content on delete cascade,
  principal_id text not null references principal,
  role role not null,
  last_modified timestamptz not null,
  primary key (content_id, principal_id)
);
create index on hidden.member (principal_id, last_modified, content_id);

-- The viewer and its groups, through at most eight levels. Policies call it in a sub-select, so it runs
-- at most once for each table of a statement. A function in plpgsql keeps the plan of its query.
create function hidden.viewer_principals() returns text[] stable parallel safe language plpgsql as $$
begin
  return array(
    with recursive reached (id, level) as (
      select current_setting('jwt.claims.sub', true), 0
      union
      select m.group_id, r.level + 1 from reached r join hidden.membership m on m.principal_id = r.id where r.level < 8
    )
    select id from reached
  );
end $$;

create function hidden.viewer_tenant() returns text stable parallel safe language sql as $$
  select split_part(current_setting('jwt.claims.sub', true), ':', 2)
$$;

alter table principal enable row level security;
create policy seen on principal for select using (
  visibility = 'PUBLIC'
  or (visibility = 'LOGGEDIN' and tenant = (select hidden.viewer_tenant()))
  or id = any ((select hidden.viewer_principals())::text[])
);

alter table content enable row level security;
create policy seen on content for select using (
  visibility = 'PUBLIC'
  or (visibility = 'LOGGEDIN' and tenant = (select hidden.viewer_tenant()))
  or exists (
    select from hidden.member m
    where m.content_id = content.id and m.principal_id = any ((select hidden.viewer_principals())::text[])
  )
);
create policy changed on content for update using (
  exists (
    select from hidden.member m
    where m.content_id = content.id and m.role >= 'EDITOR' and m.principal_id = any ((select hidden.viewer_principals())::text[])
  )
);

create function hidden.touch() returns trigger language plpgsql as $$
begin
  new.last_modified = clock_timestamp();
  return new;
end $$;
create trigger touch before update on content for each row execute function hidden.touch();

create function hidden.move() returns trigger language plpgsql security definer as $$
begin
  update hidden.member set last_modified = new.last_modified where content_id = new.id;
  return null;
end $$;
create trigger move after update on content for each row execute function hidden.move();

-- The libraries with their items, of which the viewer sees those that the policies let it see.
create view library_entry with (security_invoker) as
  select m.principal_id, m.last_modified, m.content_id as id, c.title, c.link, c.visibility, c.created_by
  from hidden.member m join content c on c.id = m.content_id;

comment on view library_entry is $$
@primaryKey principal_id,id
@foreignKey (principal_id) references principal (id)|@foreignFieldName library
@foreignKey (created_by) references principal (id)|@fieldName creator
$$;
comment on column library_entry.last_modified is '@notNull';
comment on column library_entry.principal_id is '@notNull';
comment on column library_entry.id is '@notNull';

grant select on principal, content, hidden.membership, hidden.member, library_entry to viewer;
grant update (title, link, visibility) on content to viewer;

-- The lines of data.mjs, until postgraphile-load.sql has read them.
create unlogged table hidden.line (line jsonb not null);
