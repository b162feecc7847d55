// The types of the examples. All examples use the data of `make run` (package demo), and a test
// runs each of them against a gateway with that data.

// An Example is one operation.
export interface Example {
  // The operation, with a comment that explains it.
  query: string;
  // Its variables as JSON, as they are shown.
  variables?: string;
  // The demo viewer to run it as. The answer depends on the viewer.
  as: string;
  // The origin of variables: the name of an earlier example, and the path in its answer.
  from?: Record<string, [example: string, ...path: (string | number)[]]>;
  // What lets a subscription show something each time that it is run as it stands: a query, and where
  // its answer has the value of a variable, and a mutation with the variable "text", which another
  // viewer executes as soon as the subscription listens.
  begin?: { variable: string; query: string; path: (string | number)[]; change: string; by: string };
}

// A Task is something that a user wants to do, with the operations for it in order.
export interface Task {
  title: string;
  examples: Example[];
}

// nameOf returns the name of the operation of an example.
export function nameOf({ query }: Example): string {
  return /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? '';
}
