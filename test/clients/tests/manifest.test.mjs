// The manifests of relay-compiler and of GraphQL Code Generator, each with a
// gateway that accepts no other documents.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { generate } from '../codegen/generate.mjs';
import { serveManifest } from '../manifest.mjs';
import { compile } from '../relay/compile.mjs';

const makers = {
  async 'relay-compiler'() {
    const made = await compile();
    made.remove();
    const { id, name } = made.params.appQuery;
    return { manifest: made.persisted, documentId: `sha256:${id}`, name, field: 'group' };
  },
  async 'GraphQL Code Generator'() {
    const made = await generate();
    const manifest = JSON.parse(made.read('made/persisted-documents.json'));
    made.remove();
    const [documentId] = Object.entries(manifest).find(([, text]) => text.includes('query Library'));
    return { manifest, documentId, name: 'Library', field: 'principal' };
  },
};

for (const [maker, make] of Object.entries(makers)) {
  describe(maker, () => {
    let made;
    let gateway;
    const variables = { id: 'g:demo:none', first: 1 };

    before(async () => {
      made = await make();
      gateway = await serveManifest(made.manifest);
    });
    after(() => gateway.close());

    test('a document is answered by its id', async () => {
      const { documentId, field } = made;
      assert.deepEqual(await gateway.post({ documentId, variables }), { data: { [field]: null } });
    });

    test('a document is answered by its digest, as Apollo Client sends it', async () => {
      const { documentId, name, field } = made;
      const extensions = { persistedQuery: { version: 1, sha256Hash: documentId.replace('sha256:', '') } };
      assert.deepEqual(await gateway.post({ operationName: name, extensions, variables }), { data: { [field]: null } });
    });

    test('a document is answered by its text', async () => {
      const { manifest, documentId, field } = made;
      const query = manifest[documentId] ?? manifest[documentId.replace('sha256:', '')];
      assert.deepEqual(await gateway.post({ query, variables }), { data: { [field]: null } });
    });

    test('other documents are refused', async () => {
      const query = '{ viewer { id } }';
      const hash = '7'.repeat(64);
      for (const body of [{ query }, { documentId: `sha256:${hash}` },
        { extensions: { persistedQuery: { version: 1, sha256Hash: hash } } }]) {
        const { data, errors } = await gateway.post(body);
        assert.equal(data, undefined);
        assert.deepEqual(errors.map((e) => e.extensions.code), ['PERSISTED_QUERY_NOT_FOUND']);
      }
    });
  });
}
