// The workers that Monaco requests from the page, by label. They are bundled, so that they come
// from our own origin and the editor works without a network.
import EditorWorker from 'monaco-editor/esm/vs/editor/editor.worker.js?worker';
import JsonWorker from 'monaco-editor/esm/vs/language/json/json.worker.js?worker';
import GraphQLWorker from 'monaco-graphql/esm/graphql.worker.js?worker';
import { createTrustedTypesPolicy } from './policy.ts';

const workers: Record<string, new () => Worker> = { json: JsonWorker, graphql: GraphQLWorker };

window.MonacoEnvironment = {
  getWorker(_id: string, label: string): Worker {
    return new (workers[label] ?? EditorWorker)();
  },
  createTrustedTypesPolicy,
};
