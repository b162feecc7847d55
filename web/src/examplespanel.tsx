// The panel of examples, by task. Choosing one opens it in a tab, or goes to the tab that has it.
import { pick, useGraphiQL, useGraphiQLActions, type GraphiQLPlugin } from '@graphiql/react';
import { tasks } from './examples.ts';
import { nameOf, type Example } from './examples/task.ts';

export const examplesPlugin: GraphiQLPlugin = { title: 'Examples', icon: ExamplesIcon, content: ExamplesPanel };

function ExamplesIcon() {
  return (
    <svg height="1em" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round"
      strokeLinejoin="round" aria-hidden="true">
      <path d="M4 6h.01M4 12h.01M4 18h.01M9 6h11M9 12h11M9 18h11" />
    </svg>
  );
}

function ExamplesPanel() {
  const open = useOpen();
  return (
    <section className="carrel-examples" aria-label="Examples">
      <h2>Examples</h2>
      <p>Each opens in a tab. They use the demo data.</p>
      {tasks.map((task) => (
        <section key={task.title}>
          <h3>{task.title}</h3>
          <ul>
            {task.examples.map((example) => (
              <li key={nameOf(example)}>
                <button type="button" onClick={() => open(example)}>
                  {nameOf(example)}
                </button>
                <span>as {example.as}</span>
                {sources(example).map((words) => (
                  <small key={words}>{words}</small>
                ))}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </section>
  );
}

// sources lists the origins of the variables of an example.
function sources({ from = {} }: Example): string[] {
  return Object.entries(from).map(([variable, [source, ...path]]) => `${variable}: ${path.join('.')} of ${source}`);
}

function useOpen() {
  const { tabs, queryEditor, variableEditor } = useGraphiQL(pick('tabs', 'queryEditor', 'variableEditor'));
  const { addTab, changeTab } = useGraphiQLActions();
  return (example: Example) => {
    const held = tabs.findIndex((tab) => tab.query === example.query);
    if (held >= 0) {
      changeTab(held);
      return;
    }
    addTab();
    queryEditor?.setValue(example.query);
    variableEditor?.setValue(example.variables ?? '');
  };
}
