// The newest public items of a tenant.
import { useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { isBadInput, shortNames, type Faults } from '../data/faults.ts';
import { excerpt } from '../data/markdown.ts';
import type { NewestPlace } from '../data/routes.ts';
import { LatestContentDocument, type LatestContentQuery } from '../generated/operations.ts';
import { Form, Submit, TextField } from '../ui/forms.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useSession } from '../ui/session.tsx';
import { Empty, Failed, LeadOn, Loading, Outdated, ShowMore } from '../ui/states.tsx';
import { Title } from '../ui/title.tsx';
import { dateOf, kindName } from '../ui/words.ts';
import { usePages } from './use-pages.ts';

const pageSize = 25;

export function NewestPage({ place }: { place: NewestPlace }) {
  const { claims } = useSession();
  const tenant = place.tenant || claims?.tenant || '';
  useTitle('Newest items');
  return (
    <article className="page">
      <header>
        <h1>Newest items</h1>
        {tenant && <p className="library-about">Public items of {tenant}, the most recently created first</p>}
      </header>
      {tenant ? <Newest key={tenant} tenant={tenant} /> : <AskTenant />}
    </article>
  );
}

// AskTenant is for visitors who are not signed in: the gateway has many tenants.
function AskTenant() {
  const { go } = useNavigation();
  const [tenant, setTenant] = useState('');
  const [faults, setFaults] = useState<Faults<'tenant'>>({});
  const show = () => {
    if (tenant.trim()) go({ name: 'newest', tenant: tenant.trim() });
    else setFaults({ tenant: ['Enter an organisation, such as demo.'] });
  };
  return (
    <section className="open-url">
      <Form onSubmit={show} submission={{ busy: false, faults }} actions={<Submit>Show</Submit>}>
        <TextField label="Organisation" hint="The short name of the organisation whose public items to show, such as demo."
          autoCapitalize="none" spellCheck={false} value={tenant}
          onChange={(event) => setTenant(event.target.value)} faults={faults.tenant} autoFocus />
      </Form>
    </section>
  );
}

type NewItem = LatestContentQuery['latestContent']['nodes'][number];

function Newest({ tenant }: { tenant: string }) {
  const client = useApolloClient();
  const list = useRef<HTMLUListElement>(null);
  const { nodes, error, hasMore, more, reread } = usePages<NewItem>(tenant, async (after) => {
    const { data } = await client.query({ query: LatestContentDocument, variables: { tenant, first: pageSize, after },
      fetchPolicy: 'no-cache' });
    if (!data) throw new Error('The answer has no data.');
    const { pageInfo, nodes } = data.latestContent;
    return { nodes, after: pageInfo.hasNextPage ? pageInfo.endCursor : null };
  });
  if (!nodes && isBadInput(error)) {
    return (
      <Empty heading="No such organisation">
        <p>“{tenant}” is not the short name of an organisation. {shortNames}</p>
        <AskTenant />
      </Empty>
    );
  }
  if (!nodes) return error ? <Failed error={error} onRetry={reread} heading="Could not load the items" />
    : <Loading what="Loading..." lines={6} />;
  if (nodes.length === 0 && !hasMore) {
    return (
      <Empty heading="Nothing here yet">
        <p>{tenant} has no public items. Items are public if their visibility is Public.</p>
        <LeadOn />
      </Empty>
    );
  }
  return (
    <>
      {error !== undefined && <Outdated error={error} onRetry={reread} />}
      <ul className="newest" ref={list}>
        {nodes.map((item) => (
          <li key={item.id} data-newest={item.id}>
            <To place={{ name: 'item', id: item.id }}>
              <Title of={item.title} />
            </To>
            {item.description && <p dir="auto">{excerpt(item.description, 160)}</p>}
            <small>
              {kindName[item.kind]} · {item.createdBy && <To place={{ name: 'library', id: item.createdBy.id }}><bdi>{
                item.createdBy.displayName}</bdi></To>}
              {item.createdBy && ' · '}
              <time dateTime={item.createdAt}>{dateOf(item.createdAt)}</time>
            </small>
          </li>
        ))}
      </ul>
      {hasMore && <ShowMore list={list} onMore={more} />}
    </>
  );
}
