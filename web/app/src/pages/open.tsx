// Opening an item by its URL, in any form.
import { useEffect, useMemo, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { withScheme } from '../data/hosts.ts';
import { faultsOfLookup } from '../data/item-by-url.ts';
import type { Faults } from '../data/faults.ts';
import { placeOfUrl, type OpenPlace } from '../data/routes.ts';
import { ItemByUrlDocument } from '../generated/operations.ts';
import { Form, Submit, TextField } from '../ui/forms.tsx';
import { useNavigation, useTitle } from '../ui/navigation.tsx';
import { useSession } from '../ui/session.tsx';
import { Empty, Failed, Loading } from '../ui/states.tsx';

interface OpenPageProps {
  place: OpenPlace;
  onSignIn: () => void;
}

// OpenPage asks for a URL. The address of the page contains it, so that a link can name an item
// by its URL.
export function OpenPage({ place, onSignIn }: OpenPageProps) {
  const { go } = useNavigation();
  useTitle('Open by URL');
  // A link that was copied here leads to its page.
  const own = useMemo(() => placeOfUrl(place.url, location.origin), [place.url]);
  const { data, loading, error, refetch } = useQuery(ItemByUrlDocument, {
    variables: { url: place.url, tenant: place.tenant || null },
    skip: place.url === '' || own !== null,
    fetchPolicy: 'no-cache',
  });
  const found = data?.contentByUrl?.id;
  useEffect(() => {
    if (own) go(own, { replace: true });
    else if (found) go({ name: 'item', id: found }, { replace: true });
  }, [own, found, go]);

  // The form moves focus to a field with an error once for each answer, not with each keystroke.
  const faults = useMemo(() => faultsOfLookup(error, place.tenant), [error, place.tenant]);
  const open = (url: string, tenant: string) => {
    // The same request is repeated: the item may exist by now.
    if (url === place.url && tenant === place.tenant) void refetch().catch(() => {});
    else go({ name: 'open', url, tenant });
  };
  return (
    <article className="page">
      <header className="page-head">
        <h1>Open by URL</h1>
      </header>
      <OpenForm key={`${place.url} ${place.tenant}`} place={place} busy={loading} found={faults} onOpen={open} />
      {loading && <Loading what="Loading..." />}
      {!loading && error && !faults && <Failed error={error} onRetry={() => refetch()} heading="Could not open the URL" />}
      {!loading && data && !found && <NotFound url={data.canonicalUrl} tenant={place.tenant} onSignIn={onSignIn} />}
    </article>
  );
}

interface OpenFormProps {
  place: OpenPlace;
  busy: boolean;
  found: Faults<'url' | 'tenant'> | null;
  onOpen: (url: string, tenant: string) => void;
}

const none = {};

function OpenForm({ place, busy, found, onOpen }: OpenFormProps) {
  const { claims } = useSession();
  const [url, setUrl] = useState(place.url);
  const [tenant, setTenant] = useState(place.tenant);
  const [missing, setMissing] = useState<Faults<'url'> | null>(null);
  const faults: Faults<'url' | 'tenant'> = missing ?? found ?? none;
  const submit = () => {
    const wanted = withScheme(url);
    setMissing(wanted === '' ? { url: ['Enter a URL, such as https://example.com/page.'] } : null);
    if (wanted !== '') onOpen(wanted, tenant.trim());
  };
  return (
    <section className="open-url">
      <Form onSubmit={submit} submission={{ busy, faults }} actions={<Submit busy={busy}>Open</Submit>}>
        <TextField
          label="URL of an item"
          hint="Any form of the URL works: upper case in the host, a fragment or a trailing slash make no difference."
          placeholder="https://example.com/page"
          inputMode="url"
          autoCapitalize="none"
          spellCheck={false}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
          faults={faults.url}
          autoFocus
        />
        <TextField
          label="Organisation"
          hint={
            claims
              ? `Optional: the short name of the organisation that the item belongs to, if it is not ${claims.tenant}.`
              : 'The short name of the organisation that the item belongs to, such as demo.'
          }
          autoCapitalize="none"
          spellCheck={false}
          value={tenant}
          onChange={(event) => setTenant(event.target.value)}
          faults={faults.tenant}
        />
      </Form>
    </section>
  );
}

// NotFound says that there is no item with a URL, or none that the viewer may see: the gateway
// does not reveal which.
function NotFound({ url, tenant, onSignIn }: { url: string; tenant: string; onSignIn: () => void }) {
  const { signedIn, claims } = useSession();
  return (
    <div role="status">
      <Empty heading="No item found">
        <p>
          No item of {tenant || claims?.tenant} has the URL <b className="open-url-form">{url}</b>,
            or {signedIn ? 'you do not have access to it' : 'you need to sign in to see it'}.
        </p>
        {!signedIn && (
          <button type="button" className="button button-main" onClick={onSignIn}>
            Sign in
          </button>
        )}
      </Empty>
    </div>
  );
}
