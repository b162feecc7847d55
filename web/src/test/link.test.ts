// Links to GraphiQL: what they contain, and that they never contain secrets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksForDocs, makeLink, maxLink, readLink, type Link } from '../link.ts';

const page = 'https://carrel.example:8443/some/where?query=old#part';
const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1OmRlbW86YW5uIn0.c2lnbmF0dXJl';

function linkTo(parts: Partial<Link>) {
  return makeLink(page, { query: '{ viewer { id } }', variables: '', operationName: '', ...parts });
}

// made returns a link that must exist.
function made(parts: Partial<Link>) {
  const result = linkTo(parts);
  assert.ok('link' in result, JSON.stringify(result));
  return { ...result, read: readLink(new URL(result.link).search) };
}

test('a link can be decoded', () => {
  const query = '# A comment\nquery A($id: ID!, $n: Int) { node(id: $id) { id } }\nquery B { viewer { id } }';
  const { link, leftOut, read } = made({ query, variables: '{"id": "u:demo:ann&x=1",\n "n": 3}', operationName: 'B' });
  assert.ok(link.startsWith('https://carrel.example:8443/?query='), link);
  assert.ok(!link.includes('#') && !link.includes('old'), link);
  assert.deepEqual(leftOut, []);
  assert.deepEqual(read, { query, variables: '{\n  "id": "u:demo:ann&x=1",\n  "n": 3\n}', operationName: 'B' });
});

test('a link contains only what exists', () => {
  assert.equal(made({ operationName: 'only' }).link, 'https://carrel.example:8443/?query=%7B+viewer+%7B+id+%7D+%7D');
  assert.deepEqual(made({ variables: ' \n' }).read, { query: '{ viewer { id } }', variables: '', operationName: '' });
});

test('an address without an operation opens nothing', () => {
  assert.equal(readLink('?variables=%7B%7D&operationName=A'), null);
  assert.equal(readLink(''), null);
  assert.deepEqual(readLink('?query=%7Ba%7D&variables=nonsense'), { query: '{a}', variables: 'nonsense', operationName: '' });
  assert.equal(asksForDocs('?docs'), true);
  assert.equal(asksForDocs('?query=docs'), false);
});

test('secrets in variables are removed, wherever they are', () => {
  const { link, leftOut, read } = made({
    query: 'mutation ($input: ConfirmLeaseInput!) { confirmLease(input: $input) { lease { id } } }',
    variables: JSON.stringify({ input: { id: 'l:1', token: 'hush-1', nested: [{ clientSecret: 'hush-2' }] },
      other: `Bearer ${jwt}`, password: '' }),
  });
  assert.ok(!/hush|eyJ/.test(decodeURIComponent(link)), link);
  assert.deepEqual(leftOut.toSorted(), ['clientSecret', 'other', 'token']);
  assert.deepEqual(JSON.parse(read!.variables), { input: { id: 'l:1', token: '', nested: [{ clientSecret: '' }] },
    other: '', password: '' });
});

test('secrets in the document are removed, and the rest is unchanged', () => {
  const { leftOut, read } = made({
    query: `# mine
mutation ($secret: String = "hush-1", $id: ID = "p:1") {
  a: lease(id:   "l:1", token: "hush-2") { id }
  updatePaste(input: {id: $id, secret: """hush-3""", title: "token"}) { paste { id } }
  b: lease(id: "${jwt}", token: $secret) { id }
}`,
  });
  assert.equal(
    read!.query,
    `# mine
mutation ($secret: String = "", $id: ID = "p:1") {
  a: lease(id:   "l:1", token: "") { id }
  updatePaste(input: {id: $id, secret: "", title: "token"}) { paste { id } }
  b: lease(id: "", token: $secret) { id }
}`,
  );
  assert.deepEqual(leftOut.toSorted(), ['id', 'secret', 'token']);
});

test('a token elsewhere prevents the link', () => {
  for (const parts of [{ query: `# ${jwt}\n{ viewer { id } }` }, { variables: `{"${jwt}": 1}` }]) {
    assert.deepEqual(linkTo(parts), { refused: 'Cannot copy a link: the operation contains a token.' });
  }
});

test('no link is made of text that is invalid or too long', () => {
  assert.ok('refused' in linkTo({ query: '{ viewer {' }));
  assert.ok('refused' in linkTo({ variables: '{"a": ' }));
  const around = made({ variables: JSON.stringify({ a: '' }) }).link.length;
  assert.ok('link' in linkTo({ variables: JSON.stringify({ a: 'x'.repeat(maxLink - around) }) }));
  assert.ok('refused' in linkTo({ variables: JSON.stringify({ a: 'x'.repeat(maxLink - around + 1) }) }));
});
