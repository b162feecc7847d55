// The start page. Signed-in users are redirected to their own library.
import { useEffect, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { ViewerDocument } from '../generated/operations.ts';
import type { Faults } from '../data/faults.ts';
import { principalId } from '../data/routes.ts';
import { Form, Submit, TextField } from '../ui/forms.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useMe, useSession } from '../ui/session.tsx';
import { Failed, Loading } from '../ui/states.tsx';

const largestOfTheDemo = 'g:demo:standard-library';

export function HomePage({ onSignIn }: { onSignIn: () => void }) {
  const { go } = useNavigation();
  const { signedIn, viewers } = useSession();
  const me = useMe();
  const { error, refetch } = useQuery(ViewerDocument, { skip: !signedIn });
  useTitle('');

  useEffect(() => {
    if (me) go({ name: 'library', id: me.id }, { replace: true });
  }, [me, go]);

  if (signedIn && error) return <Failed error={error} onRetry={() => refetch()} heading="Could not load your library" />;
  if (signedIn) return <Loading what="Loading..." lines={6} />;
  return (
    <article className="entrance">
      <h1>Shared libraries of links and notes</h1>
      <p className="lead">
        Every user and every group has a library. Items that are shared with you appear in yours, the most recently changed first.
      </p>
      <div className="actions">
        <button type="button" className="button button-main" onClick={onSignIn}>
          Sign in
        </button>
        {viewers.length > 0 && (
          <To className="button" place={{ name: 'library', id: largestOfTheDemo }}>
            Browse the demo
          </To>
        )}
      </div>
      <OpenById />
    </article>
  );
}

function OpenById() {
  const { go } = useNavigation();
  const [id, setId] = useState('');
  const [faults, setFaults] = useState<Faults<'id'>>({});
  const open = () => {
    if (principalId.test(id.trim())) go({ name: 'library', id: id.trim() });
    else setFaults({ id: ['Enter an id such as u:demo:ann, or g:demo:team for a group.'] });
  };
  return (
    <section className="entrance-open">
      <Form onSubmit={open} submission={{ busy: false, faults }} actions={<Submit>Open</Submit>}>
        <TextField
          label="Open a library by its id"
          hint="Ids name the organisation and then the user or the group: u:demo:ann, g:demo:team."
          placeholder="g:demo:team"
          autoCapitalize="none"
          spellCheck={false}
          value={id}
          onChange={(event) => setId(event.target.value)}
          faults={faults.id}
        />
      </Form>
    </section>
  );
}
