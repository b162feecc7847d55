// Writes what all peers serve into a file, as lines for `carrel import`. PostgreSQL loads the same lines.
import { writeFileSync } from 'node:fs';

const lines = [];
const pad = (n, width) => String(n).padStart(width, '0');
const principal = (type, name, members) =>
  lines.push({ type, id: `${type[0]}:bench:${name}`, displayName: `Reader ${name}`, visibility: 'PUBLIC', members });
const item = (owner, n, visibility, viewers = []) => {
  const lastModified = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  const id = `c:bench:${owner}-${pad(n, 7)}`;
  const [first, ...more] = [[`u:bench:${owner}`, 'MANAGER'], ...viewers.map((viewer) => [viewer, 'VIEWER'])]
    .map(([principalId, role]) => ({ principalId, role }))
    .reduce((parts, member, i) => (i % 100 ? parts.at(-1).push(member) : parts.push([member]), parts), []);
  lines.push({
    type: 'content', id, kind: 'LINK', title: `Subject ${n} of the library of ${owner}`, link: `https://example.com/subjects/${owner}/${n}`,
    visibility, createdBy: `u:bench:creator${pad(n % 20, 2)}`, createdAt: lastModified, lastModified, members: first,
  });
  for (const members of more) lines.push({ type: 'members', id, members });
};
const library = (owner, size, viewers, visibility = (n) => ['PUBLIC', 'LOGGEDIN', 'PRIVATE'][n % 3]) => {
  principal('user', owner);
  for (let n = 0; n < size; n++) item(owner, n, visibility(n), viewers?.(n));
};

for (let n = 0; n < 20; n++) principal('user', `creator${pad(n, 2)}`);
for (let n = 0; n < 64; n++) library(`peer${pad(n, 2)}`, 50);
library('large', 110_000);

// The viewer is in 100 groups, and each of these in two others. They share one in ten of the sharer's items.
const groups = Array.from({ length: 300 }, (_, n) => `g:bench:group${pad(n, 3)}`);
principal('user', 'grouped');
groups.forEach((_, n) =>
  principal('group', `group${pad(n, 3)}`, [{ principalId: n < 100 ? 'u:bench:grouped' : groups[n % 100], role: 'MANAGER' }]));
library('sharer', 10_000, (n) => (n % 10 ? [] : [groups[(n / 10) % 300]]), () => 'PRIVATE');

// One item in 1,000 libraries.
const readers = Array.from({ length: 999 }, (_, n) => `reader${pad(n + 1, 5)}`);
for (const reader of readers) principal('user', reader);
library('medium', 1, () => readers.map((reader) => `u:bench:${reader}`));

writeFileSync(process.argv[2], lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
