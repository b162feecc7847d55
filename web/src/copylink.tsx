// The button that copies a link to the open tab, and the effect of a link at the start of the
// page.
import { useEffect, useRef } from 'react';
import { pick, ToolbarButton, useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { makeLink } from './link.ts';

// say shows the user the result.
export function CopyLink({ say }: { say: (words: string) => void }) {
  const { queryEditor, variableEditor, operationName } = useGraphiQL(pick('queryEditor', 'variableEditor', 'operationName'));
  const copy = async () => {
    const made = makeLink(location.href, {
      query: queryEditor?.getValue() ?? '',
      variables: variableEditor?.getValue() ?? '',
      operationName: operationName ?? '',
    });
    if ('refused' in made) {
      say(made.refused);
      return;
    }
    const without = made.leftOut.length > 0 ? `, without ${made.leftOut.join(', ')}` : '';
    try {
      await navigator.clipboard.writeText(made.link);
      say(`Link copied${without}.`);
    } catch {
      // Only a page that was loaded over HTTPS may write to the clipboard.
      history.replaceState(null, '', made.link);
      say(`The link is in the address bar${without}.`);
    }
  };
  return (
    <ToolbarButton label="Copy link" onClick={copy}>
      <svg className="graphiql-toolbar-icon" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5"
        strokeLinecap="round" aria-hidden="true">
        <path d="M8 12a3.5 3.5 0 0 0 5 0l3-3a3.5 3.5 0 0 0-5-5l-1 1M12 8a3.5 3.5 0 0 0-5 0l-3 3a3.5 3.5 0 0 0 5 5l1-1" />
      </svg>
    </ToolbarButton>
  );
}

// ChooseOperation chooses the operation that a link names, once the document has been read. Later
// choices are the user's.
export function ChooseOperation({ name }: { name: string }) {
  const operations = useGraphiQL((state) => state.operations);
  const { setOperationName } = useGraphiQLActions();
  const chosen = useRef(name === '');
  useEffect(() => {
    if (chosen.current || !operations || operations.length === 0) return;
    chosen.current = true;
    if (operations.some((operation) => operation.name?.value === name)) setOperationName(name);
  }, [name, operations, setOperationName]);
  return null;
}
