// Two texts side by side, with their differences.
import { memo } from 'react';
import { compareTexts, fold, isChange } from '../data/diff.ts';
import { Panel } from './panel.tsx';

// maxRows limits what a browser has to lay out.
const maxRows = 2000;

interface TextOf {
  label: string;
  title: string;
  body: string;
}

interface DiffProps {
  before: TextOf;
  after: TextOf;
}

// Diff shows the differences between two texts.
export const Diff = memo(function Diff({ before, after }: DiffProps) {
  return (
    <Panel what="the differences" of={`${before.body}\n${after.body}`}>
      <Compared before={before} after={after} />
    </Panel>
  );
});

function Compared({ before, after }: DiffProps) {
  const rows = compareTexts(before, after);
  if (!rows.some(isChange)) return <p className="diff-none">{`“${before.label}” and “${after.label}” are the same.`}</p>;
  const shown = fold(rows);
  return (
    <div className="diff" role="region" aria-label={`Differences between “${before.label}” and “${after.label}”`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{before.label}</th>
            <th scope="col">{after.label}</th>
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, maxRows).map((row, index) =>
            'folded' in row ? (
              <tr key={index} className="diff-fold">
                <td colSpan={2}>{`${row.folded} unchanged ${row.folded === 1 ? 'line' : 'lines'}`}</td>
              </tr>
            ) : (
              <tr key={index}>
                <td dir="auto">{isChange(row) && row.before !== null ? <del>{row.before || ' '}</del> : row.before}</td>
                <td dir="auto">{isChange(row) && row.after !== null ? <ins>{row.after || ' '}</ins> : row.after}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {shown.length > maxRows && <p className="diff-none">There are more differences than can be shown here.</p>}
    </div>
  );
}
