// What the page does for the open tab: an example runs as its viewer and with variables that it can
// use at once, and the answer of another viewer is not shown.
import { useEffect, useRef } from 'react';
import { pick, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { examples } from './examples.ts';
import type { Example } from './examples/task.ts';
import type { Viewer } from './viewers.ts';

interface ExampleTabProps {
  viewer: Viewer;
  viewers: Viewer[];
  // Whether a subscription runs: its end is the answer after a change of the viewer.
  listening: boolean;
  choose: (name: string) => void;
}

// ExampleTab acts when another tab is opened, and when another viewer is chosen.
export function ExampleTab({ viewer, viewers, listening, choose }: ExampleTabProps) {
  const { tabs, activeTabIndex, queryEditor, responseEditor, variableEditor } =
    useGraphiQL(pick('tabs', 'activeTabIndex', 'queryEditor', 'responseEditor', 'variableEditor'));
  const { updateActiveTabValues } = useGraphiQLActions();
  const tab = tabs[activeTabIndex];
  const example = examples.find(({ query }) => query === tab?.query);

  // The comments of the examples are read whole on a narrow window too.
  useEffect(() => queryEditor?.updateOptions({ wordWrap: 'on' }), [queryEditor]);

  // An example that says "as Cleo" runs as Cleo, until another viewer is chosen.
  const opened = useRef({ id: tab?.id, chosen: true });
  useEffect(() => {
    if (opened.current.id !== tab?.id) opened.current = { id: tab?.id, chosen: false };
    if (opened.current.chosen || !example || !viewers.some(({ name }) => name === example.as)) return;
    opened.current.chosen = true;
    choose(example.as);
  }, [tab?.id, example, viewers, choose]);

  // After a change of the viewer, every tab has an answer for the former one.
  const before = useRef({ name: viewer.name, listening });
  const outdated = useRef(new Set<string>());
  useEffect(() => {
    const { name, listening: ended } = before.current;
    before.current = { name: viewer.name, listening };
    if (name !== viewer.name) outdated.current = new Set(tabs.filter(({ id }) => !(ended && id === tab?.id)).map(({ id }) => id));
    if (!tab || !outdated.current.delete(tab.id)) return;
    responseEditor?.setValue('');
    updateActiveTabValues({ response: null });
  }, [viewer.name, listening, tab?.id, responseEditor]);

  // A variable with a beginning gets its value, unless something was typed meanwhile.
  const filled = useRef('');
  const untouched = () => [example?.variables, filled.current].includes(variableEditor?.getValue());
  useEffect(() => {
    if (!example?.begin || !variableEditor || !untouched()) return undefined;
    let over = false;
    begin(example, viewer).then(
      (variables) => {
        if (over || !variables || !untouched() || variableEditor.hasTextFocus()) return;
        filled.current = variables;
        variableEditor.setValue(variables);
      },
      () => {},
    );
    return () => {
      over = true;
    };
  }, [example, viewer, variableEditor]);

  // A subscription that runs as it stands gets an event.
  useEffect(() => {
    const actor = viewers.find(({ name }) => name === example?.begin?.by);
    if (!listening || !example?.begin || !actor || !untouched()) return;
    send(example.begin.change, actor, { text: `Changed at ${new Date().toISOString()}.` }).catch(() => {});
  }, [listening]);
  return null;
}

// begin reads the variables with which a viewer runs an example.
async function begin({ begin }: Example, viewer: Viewer): Promise<string | null> {
  if (!begin) return null;
  const data = await send(begin.query, viewer);
  const value = begin.path.reduce<unknown>((at, key) => (at as Record<string | number, unknown> | null | undefined)?.[key], data);
  return typeof value === 'string' ? JSON.stringify({ [begin.variable]: value }, null, 2) : null;
}

async function send(query: string, { token }: Viewer, variables = {}): Promise<unknown> {
  const answer = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
  });
  return ((await answer.json()) as { data?: unknown }).data;
}
