// Apollo Gateway and Hive Gateway in front of a running Carrel and the second
// subgraph: both must answer alike.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createClient } from 'graphql-sse';
import { serveApollo } from '../apollo.mjs';
import { serveBookmarks } from '../bookmarks.mjs';
import { compose } from '../compose.mjs';
import { serveHive } from '../hive.mjs';
import { recorder } from './recorder.mjs';

const ann = process.env.TOKEN;
const cleo = process.env.OTHER_TOKEN;
const folder = mkdtempSync(join(tmpdir(), 'federation-'));
const file = join(folder, 'bookmarks.jsonl');
let carrel;
let bookmarks;
let files;

before(async () => {
  carrel = await recorder(`${process.env.BASE_URL}/graphql`);
  // One of Cleo's bookmarks refers to something that is no item.
  appendFileSync(file, '{"user":"u:demo:cleo","contentId":"broken","note":"old","createdAt":"2026-11-01T00:00:00.000Z"}\n');
  bookmarks = await serveBookmarks({ carrel: carrel.url, file });
  files = await compose({ carrel: carrel.url, bookmarks: bookmarks.url, folder });
});

after(async () => {
  await bookmarks.close();
  await carrel.close();
  rmSync(folder, { recursive: true });
});

// pathsOf returns the paths of Carrel's errors. If an object is null, Hive Gateway
// adds its own errors for the object's non-null fields, whose paths end in these
// fields.
function pathsOf(errors) {
  return errors.filter((e) => e.extensions.serviceName === 'carrel').map((e) => e.path.slice(0, 3));
}

const gateways = {
  'Apollo Gateway': () => serveApollo({ supergraphSdl: readFileSync(files.apollo, 'utf8') }),
  'Hive Gateway': () => serveHive({ supergraph: files.hive }),
};

// Apollo Gateway has no subscriptions.
const subscribing = ['Hive Gateway'];

for (const [name, serve] of Object.entries(gateways)) {
  describe(name, () => {
    let gateway;

    async function ask(token, query, variables) {
      const response = await fetch(gateway.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify({ query, variables }),
      });
      return response.json();
    }

    async function must(token, query, variables) {
      const { data, errors } = await ask(token, query, variables);
      assert.equal(errors, undefined, JSON.stringify(errors));
      return data;
    }

    // create makes a private item of Ann's that Cleo may see.
    async function create(title) {
      const data = await must(
        ann,
        `mutation ($title: String!) { createContent(input: {
          kind: NOTE, title: $title, visibility: PRIVATE, members: [{principalId: "u:demo:cleo", role: VIEWER}]}) {
          content { id bookmark { note } } userErrors { code } } }`,
        { title },
      );
      assert.deepEqual(data.createContent.userErrors, []);
      assert.equal(data.createContent.content.bookmark, null);
      return data.createContent.content.id;
    }

    const bookmark = (token, id, note) =>
      must(token, 'mutation ($id: ID!, $note: String) { bookmark(contentId: $id, note: $note) { note content { id title } } }',
        { id, note });

    before(async () => {
      gateway = await serve();
    });
    after(() => gateway.close());

    test('a query goes through both subgraphs and back', async () => {
      const id = await create('There and back');
      assert.deepEqual(await bookmark(ann, id, 'mine'), { bookmark: { note: 'mine', content: { id, title: 'There and back' } } });
      const data = await must(
        ann,
        `query ($id: ID!) {
          content(id: $id) { title bookmark { note } createdBy { displayName bookmarks { content { title viewerRole } } } }
          group(id: "g:demo:standard-library") {
            displayName library(first: 3) { nodes { title bookmark { note } } pageInfo { hasNextPage } } } }`,
        { id },
      );
      assert.deepEqual(data.content.bookmark, { note: 'mine' });
      assert.deepEqual(data.content.createdBy.bookmarks[0], { content: { title: 'There and back', viewerRole: 'MANAGER' } });
      assert.equal(data.group.library.nodes.length, 3);
      assert.equal(data.group.library.pageInfo.hasNextPage, true);
    });

    test('the authorization header reaches both, and private items stay private', async () => {
      const id = await create('Not for everybody');
      await bookmark(ann, id, 'mine');
      const query = 'query ($id: ID!) { content(id: $id) { title bookmark { note } } bookmarks { note } viewer { id } }';
      const owner = await carrel.during(() => must(ann, query, { id }));
      assert.deepEqual(owner.result.content, { title: 'Not for everybody', bookmark: { note: 'mine' } });
      assert.equal(owner.result.viewer.id, 'u:demo:ann');
      assert.ok(owner.requests.length > 0 && owner.requests.every((r) => r.authorization === `Bearer ${ann}`));
      const nobody = await carrel.during(() => must('', query, { id }));
      assert.deepEqual(nobody.result, { content: null, bookmarks: [], viewer: null });
      assert.ok(nobody.requests.length > 0 && nobody.requests.every((r) => r.authorization === undefined));
    });

    test('an item that the viewer may no longer see is null, without an error', async () => {
      const id = await create('Shared for a while');
      await bookmark(cleo, id, 'while it lasts');
      const query = '{ bookmarks { note content { title } } }';
      assert.deepEqual((await ask(cleo, query)).data.bookmarks[0], { note: 'while it lasts', content: { title: 'Shared for a while' } });
      const taken = await must(
        ann,
        'mutation ($id: ID!) { setContentMembers(input: {contentId: $id, members: [{principalId: "u:demo:cleo"}]}) { userErrors { code } } }',
        { id },
      );
      assert.deepEqual(taken.setContentMembers.userErrors, []);
      const { data, errors } = await ask(cleo, query);
      assert.deepEqual(data.bookmarks[0], { note: 'while it lasts', content: null });
      assert.deepEqual(pathsOf(errors), [['bookmarks', 1, 'content']], 'only the broken bookmark is an error');
      await must(cleo, 'mutation ($id: ID!) { removeBookmark(contentId: $id) { note } }', { id });
    });

    test('entities are requested in one batch, each once', async () => {
      const ids = [await create('one'), await create('two'), await create('three')];
      for (const id of ids) await bookmark(ann, id);
      const query = '{ bookmarks { content { title createdBy { displayName } } } viewer { bookmarks { content { id title } } } }';
      const { result, requests } = await carrel.during(() => must(ann, query));
      assert.deepEqual(result.bookmarks.slice(0, 3).map((b) => b.content.title), ['three', 'two', 'one']);
      assert.deepEqual(result.viewer.bookmarks.slice(0, 3).map((b) => b.content.id), ids.reverse());
      const batches = requests.filter((r) => r.query.includes('_entities'));
      assert.ok(batches.length > 0 && batches.length <= 2, `${batches.length} batches for two lists`);
      for (const { variables } of batches) {
        const [references] = Object.values(variables).filter(Array.isArray);
        assert.ok(references.length >= 3 && references.every((r) => r.__typename === 'Content'));
        assert.equal(new Set(references.map((r) => r.id)).size, references.length);
      }
    });

    test('an error of one entity has its path, and does not affect the others', async () => {
      const id = await create('whole');
      await bookmark(cleo, id, 'new');
      const { data, errors } = await ask(cleo, '{ bookmarks { note content { title } } }');
      assert.deepEqual(data.bookmarks.map((b) => [b.note, b.content]), [['new', { title: 'whole' }], ['old', null]]);
      assert.deepEqual(pathsOf(errors), [['bookmarks', 1, 'content']]);
      assert.deepEqual(errors.map((e) => e.extensions.code), ['BAD_USER_INPUT']);
      await must(cleo, 'mutation ($id: ID!) { removeBookmark(contentId: $id) { note } }', { id });
    });

    test('an error of a field has its code and path', async () => {
      const { data, errors } = await ask(ann, '{ content(id: "nonsense") { title bookmark { note } } viewer { id } }');
      assert.deepEqual(data, { content: null, viewer: { id: 'u:demo:ann' } });
      assert.deepEqual(errors.map((e) => [e.path, e.extensions.code]), [[['content'], 'BAD_USER_INPUT']]);
    });

    test('a bad token is refused', async () => {
      const { data, errors } = await ask('x', '{ viewer { id } bookmarks { note } }');
      assert.ok(!data?.viewer && !data?.bookmarks);
      assert.ok(errors.length > 0 && errors.every((e) => e.extensions.code === 'UNAUTHENTICATED'));
    });

    if (subscribing.includes(name)) {
      test('a subscription passes through, and the other subgraph adds to each event', async () => {
        const id = await create('to be changed');
        await bookmark(ann, id, 'mine');
        const made = 'mutation { createGroup(input: {tenant: "demo", name: "followers", displayName: "Followers"}) { userErrors { code } } }';
        assert.deepEqual(await must(ann, made), { createGroup: { userErrors: [] } });
        const group = 'g:demo:followers';
        const share = 'mutation ($id: ID!, $group: ID!) { shareContent(input: {contentId: $id, principalIds: [$group]}) { userErrors { code } } }';
        await must(ann, share, { id, group });
        const { principal } = await must(ann, 'query ($group: ID!) { principal(id: $group) { library { pageInfo { endCursor } } } }',
          { group });
        const client = createClient({ url: gateway.url, headers: { authorization: `Bearer ${ann}` }, retryAttempts: 0 });
        const query = `subscription ($group: ID!, $after: Cursor) { libraryChanged(principalId: $group, after: $after) {
          __typename ... on LibraryEntryPlaced { edge { node { title bookmark { note } } } } } }`;
        const changes = client.iterate({ query, variables: { group, after: principal.library.pageInfo.endCursor } });
        await must(ann, 'mutation ($id: ID!) { updateContent(input: {id: $id, title: "changed"}) { userErrors { code } } }', { id });
        const wanted = { __typename: 'LibraryEntryPlaced', edge: { node: { title: 'changed', bookmark: { note: 'mine' } } } };
        const others = [];
        for (let n = 0; n < 100 && !isDeepStrictEqual(others.at(-1), wanted); n++) {
          const { value, done } = await changes.next();
          assert.ok(!done && !value.errors, JSON.stringify(value));
          others.push(value.data.libraryChanged); // recent changes may be delivered again
        }
        assert.deepEqual(others.at(-1), wanted);
        await changes.return();
        client.dispose();
      });
    }

    test('mutations of both subgraphs are executed in order', async () => {
      const id = await create('before');
      const data = await must(
        ann,
        `mutation ($id: ID!) {
          updateContent(input: {id: $id, title: "after"}) {
            content { title version bookmark { note } } libraryEdge { cursor node { id } } userErrors { code } }
          bookmark(contentId: $id, note: "later") { content { title } }
          again: updateContent(input: {id: $id, title: "conflict", expectedVersion: 1}) { content { id } userErrors { code field } } }`,
        { id },
      );
      assert.deepEqual(data.updateContent.content, { title: 'after', version: 2, bookmark: null });
      assert.equal(data.updateContent.libraryEdge.node.id, id);
      assert.deepEqual(data.bookmark, { content: { title: 'after' } });
      assert.deepEqual(data.again, { content: null, userErrors: [{ code: 'CONFLICT', field: ['expectedVersion'] }] });
    });
  });
}
