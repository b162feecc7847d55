import { useEffect, useMemo, useRef, useState } from 'react';
import { GraphiQL } from 'graphiql';
import { explorerPlugin } from '@graphiql/plugin-explorer';
import { HISTORY_PLUGIN } from '@graphiql/plugin-history';
import { ChooseOperation, CopyLink } from './copylink.tsx';
import { createListener } from './subscriptions.ts';
import { createFetcher, loadViewers, type Viewer } from './viewers.ts';
import { exampleTabs, firstVariables } from './examples.ts';
import { ExampleTab } from './exampletab.tsx';
import { examplesPlugin } from './examplespanel.tsx';
import { asksForDocs, readLink } from './link.ts';

const CHOICE = 'carrel.viewer';
const servesApp = (document.documentElement.dataset.pages ?? '').split(' ').includes('app');
// GraphiQL needs the same plugins each time that it renders. It adds the documentation itself.
const plugins = [HISTORY_PLUGIN, examplesPlugin, explorerPlugin()];
const ANONYMOUS: Viewer = { name: 'Anonymous', description: 'Not signed in.', token: '' };

export function App() {
  const { viewers, state, chosen, choose, renew } = useViewers();
  // The fetcher must stay the same object, or GraphiQL would read the schema
  // again at every change of viewer. So it reads the token when it sends.
  const token = useRef('');
  token.current = chosen.token;
  const renewing = useRef(renew);
  renewing.current = renew;
  const [listening, setListening] = useState(false);
  const [said, say] = useState('');
  const { fetcher, end } = useMemo(() => {
    const listener = createListener({ onListening: setListening });
    return {
      fetcher: createFetcher({
        currentToken: () => token.current,
        renewToken: () => renewing.current(),
        listen: listener.listen,
      }),
      end: listener.end,
    };
  }, []);
  // A subscription keeps the viewer with which it started, so a change of the viewer ends it.
  const change = (name: string) => {
    if (name === chosen.name) return;
    end(`Ended, because ${name} is the viewer now instead of ${chosen.name}. Run it again to listen as ${name}.`);
    choose(name);
  };
  const linked = useMemo(() => readLink(location.search), []);
  const docs = useMemo(() => {
    const asked = asksForDocs(location.search);
    if (asked) localStorage.removeItem('graphiql:visiblePlugin'); // the panel that was open last would win
    return asked;
  }, []);
  const firstVisit = useMemo(() => localStorage.getItem('graphiql:tabState') === null, []);

  return (
    <div className="carrel">
      <header className="carrel-bar">
        <h1>Carrel</h1>
        <ViewerMenu viewers={viewers} state={state} chosen={chosen} choose={change} />
        <p className="carrel-listening" role="status">
          {listening && 'Listening for changes'}
        </p>
        <p className="carrel-said" role="status">
          {said}
        </p>
        {servesApp && (
          <a className="carrel-away" href="/app">
            Open the app
          </a>
        )}
      </header>
      <main className="carrel-main">
        <GraphiQL
          fetcher={fetcher}
          defaultTabs={linked ? [linked, ...exampleTabs] : exampleTabs}
          initialQuery={linked?.query}
          initialVariables={linked?.variables ?? (firstVisit ? firstVariables : undefined)}
          visiblePlugin={docs ? 'Documentation Explorer' : undefined}
          defaultEditorToolsVisibility="variables"
          plugins={plugins}
        >
          <GraphiQL.Toolbar>
            {({ prettify, merge, copy }) => (
              <>
                {prettify}
                {merge}
                {copy}
                <CopyLink say={say} />
                <ChooseOperation name={linked?.operationName ?? ''} />
                <ExampleTab viewer={chosen} viewers={viewers} listening={listening} choose={change} />
              </>
            )}
          </GraphiQL.Toolbar>
        </GraphiQL>
      </main>
    </div>
  );
}

type State = 'loading' | 'ready' | 'failed';

interface ViewerMenuProps {
  viewers: Viewer[];
  state: State;
  chosen: Viewer;
  choose: (name: string) => void;
}

function ViewerMenu({ viewers, state, chosen, choose }: ViewerMenuProps) {
  return (
    <div className="carrel-viewer">
      <label htmlFor="viewer">Run as</label>
      <select
        id="viewer"
        value={chosen.name}
        disabled={state === 'loading'}
        aria-describedby="viewer-about"
        onChange={(event) => choose(event.target.value)}
      >
        {viewers.map((viewer) => (
          <option key={viewer.name} value={viewer.name}>
            {viewer.name}
          </option>
        ))}
      </select>
      <span id="viewer-about" role="status" className={state === 'failed' ? 'carrel-failed' : undefined}>
        {about(state, chosen)}
      </span>
    </div>
  );
}

function about(state: State, chosen: Viewer): string {
  if (state === 'loading') return 'Loading...';
  if (state === 'failed') return 'There are no demo viewers. Set a token under Headers: {"authorization": "Bearer …"}';
  return chosen.description;
}

// useViewers loads the demo viewers and keeps the choice for this tab of the browser.
// "Anonymous" can be chosen even if the list is not available.
function useViewers() {
  const [viewers, setViewers] = useState([ANONYMOUS]);
  const [state, setState] = useState<State>('loading');
  const [name, setName] = useState(() => sessionStorage.getItem(CHOICE) ?? ANONYMOUS.name);

  const load = async () => {
    const list = await loadViewers();
    if (list.length > 0) setViewers(list);
    return list;
  };
  useEffect(() => {
    load().then(
      (list) => setState(list.length > 0 ? 'ready' : 'failed'),
      () => setState('failed'),
    );
  }, []);

  const find = (list: Viewer[]) => list.find((viewer) => viewer.name === name) ?? list[0] ?? ANONYMOUS;
  return {
    viewers,
    state,
    chosen: find(viewers),
    choose(next: string) {
      sessionStorage.setItem(CHOICE, next);
      setName(next);
    },
    renew: async () => find(await load()).token,
  };
}
