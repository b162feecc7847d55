// TypedDocument is the text of one operation, with the types of its variables and of its
// result. Libraries that read documents as syntax trees take parse(document.text).
export interface TypedDocument<Result, Variables> {
  readonly name: string;
  readonly kind: 'query' | 'mutation' | 'subscription';
  readonly text: string;
  // Exists in the types only, under the name that typed document nodes use.
  readonly __apiType?: (variables: Variables) => Result;
}

// ResultOf and VariablesOf return the types of a document.
export type ResultOf<D> = D extends TypedDocument<infer Result, infer _> ? Result : never;
export type VariablesOf<D> = D extends TypedDocument<infer _, infer Variables> ? Variables : never;
