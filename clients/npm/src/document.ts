// TypedDocument is the text of one operation, with the types of its variables and result. For
// libraries that need a syntax tree, use parse(document.text).
export interface TypedDocument<Result, Variables> {
  readonly name: string;
  readonly kind: 'query' | 'mutation' | 'subscription';
  readonly text: string;
  // Never set: it only binds the types. Typed document nodes have a property of the same name.
  readonly __apiType?: (variables: Variables) => Result;
}

// ResultOf and VariablesOf return the types of a document.
export type ResultOf<D> = D extends TypedDocument<infer Result, infer _> ? Result : never;
export type VariablesOf<D> = D extends TypedDocument<infer _, infer Variables> ? Variables : never;
